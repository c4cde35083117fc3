"""Stages of a model of a table: lines, then curves of columns, then planes of pairs, each where held-out rows show that it pays."""
