import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules", "out"] },
  ...tseslint.configs.recommended,
  {
    rules: {
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-var": "error",
      "prefer-const": "error",
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      "@typescript-eslint/no-explicit-any": "off", // messages and headers are JSON
      "@typescript-eslint/no-non-null-assertion": "off", // maps and arrays that were just filled
      "@typescript-eslint/no-unused-expressions": ["error", { allowShortCircuit: true, allowTernary: true }],
    },
  },
);
