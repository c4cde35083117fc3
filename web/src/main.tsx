/** Entry point: a report if the page contains one, otherwise the studio. */

import { render } from "preact";
import { batch } from "@preact/signals";
import { fromAddress, keepInAddress } from "./address";
import { App } from "./App";
import { connect } from "./connection";
import { timing } from "./plane/stage";
import { propose } from "./ProblemPanel";
import { openReport } from "./report";
import { moment, run, say, source } from "./state";
import "./style.css";

const inlined = document.getElementById("creases-report");
if (inlined) {
  openReport(inlined.textContent ?? "").then(
    (opened) => {
      inlined.remove();
      batch(() => {
        run.value = opened.run;
        moment.value = opened.run.moments.length - 1;
        source.value = opened.source;
        fromAddress();
      });
      keepInAddress(false);
    },
    (problem: Error) => say("page", `This report cannot be read (${problem.message}). Create it again with: creases report`),
  );
} else {
  source.value = connect(propose);
  keepInAddress(true);
}
const app = document.getElementById("app")!;
app.textContent = "";
render(<App />, app);
Object.assign(window, { creasesTiming: timing });
