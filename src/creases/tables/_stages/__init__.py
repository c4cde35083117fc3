"""Stages of a model of a table: lines, curves of columns, planes of pairs, each where held-out rows favor it."""
