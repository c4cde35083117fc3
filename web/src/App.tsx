/** The page: problem and controls, the picture in time, the network and the reasons. */

import { About } from "./About";
import { Card } from "./Card";
import { ChangeBar, ChangePanel } from "./ChangePanel";
import { Curves } from "./Curves";
import { draft } from "./draft";
import { MethodPanel } from "./MethodPanel";
import { isDrawn, NetworkDrawing } from "./NetworkDrawing";
import { PicturePanel } from "./PicturePanel";
import { ProblemPanel } from "./ProblemPanel";
import { RegionInfo } from "./RegionInfo";
import { RunPanel } from "./RunPanel";
import { Scoreboard } from "./Scoreboard";
import { Contents, GroupTitle, Sections } from "./Sections";
import { SlicePanel } from "./SlicePanel";
import { StepList } from "./StepList";
import { TablePage } from "./TablePage";
import { busy, connected, dark, errors, frame, opening, run, source, status, turnTheme, unit, untrained } from "./state";
import { Timeline } from "./Timeline";

export function App() {
  if (!source.value) return <p class="loading" role="status">{errors.value.page || "Opening…"}</p>;
  const { live } = source.value;
  const all = run.value;
  const grows = live ? !untrained.value : (all !== null && all.epochs.epoch.length > 0);
  const viewed = live ? !!all || !opening.value : !!all?.moments.length;
  const group = live ? undefined : all?.sections.find((section) => section.viewer)?.group;
  return (
    <>
      <header class={live ? "studio" : ""}>
        <h1>creases <span>{live ? "studio" : "report"}</span></h1>
        {live ? <Scoreboard /> : <p>{lead()}</p>}
        <button onClick={turnTheme} aria-pressed={dark.value}>{dark.value ? "Light mode" : "Dark mode"}</button>
        {live && (busy.value || status.value === "running") && <i class="working" aria-hidden="true" />}
      </header>
      {!connected.value && <p class="banner" role="alert">{errors.value.page || "Connection lost. Reconnecting… The run continues for one minute without the page."}</p>}
      {!live && <Contents />}
      {!live && <Sections part="before" />}
      {group && <GroupTitle title={group} />}
      {live && !all && opening.value && <p class="loading" role="status">Opening {opening.value}…</p>}
      {live && all?.table && (
        <main class="studio table">
          <aside class="left" aria-label="Changes and data"><ChangePanel table={all.table} measure={all.measure} /><ProblemPanel /></aside>
          <TablePage table={all.table} />
          <ChangeBar table={all.table} measure={all.measure} />
        </main>
      )}
      {viewed && !all?.table && <main class={!live ? "report" : draft.value.kind === "draw" ? "studio drawing" : "studio"}>
        <aside class="left" aria-label={live ? "Problem and controls" : "About this run"}>
          {live ? <><ProblemPanel /><MethodPanel /><RunPanel /><SlicePanel /></> : <About />}
          {!live && grows && <section aria-labelledby="curves-title"><h2 id="curves-title">Curves</h2><Curves /></section>}
        </aside>
        <div class="middle">
          <PicturePanel />
          {grows && <Timeline />}
        </div>
        <aside class="right" aria-label="Network and explanations">
          {grows && <section aria-labelledby="why-title"><h2 id="why-title">Why this unit</h2><Card /></section>}
          <section class="region" aria-labelledby="region-title">
            <h2 id="region-title">{frame.value?.kind === "line" ? "Piece" : "Region"}</h2>
            <RegionInfo />
          </section>
          <section aria-labelledby="network-title">
            <h2 id="network-title">Network</h2>
            <NetworkDrawing />
            {frame.value && isDrawn(frame.value) && (
              <p class="quiet">
                {unit.value === null ? "Click a unit to highlight its crease." : <button class="link" onClick={() => (unit.value = null)}>Clear highlight</button>}
              </p>
            )}
          </section>
          {live && grows && <section aria-labelledby="curves-title"><h2 id="curves-title">Curves</h2><Curves /></section>}
          {live && all?.records.length ? <section aria-labelledby="list-title"><h2 id="list-title">Growth steps</h2><StepList /></section> : null}
        </aside>
      </main>}
      {!live && <Sections part="after" />}
    </>
  );
}

function lead(): string {
  const all = run.value!;
  if (all.lead) return all.lead;
  if (all.records[0]?.method === "linear")
    return "A network that started as the linear model and grew one unit at a time, each for a reason. Press Play to watch; each red mark on the timeline is a growth step.";
  if (all.records.length) return "A network that started small and grew where it made mistakes. Press Play to watch; each red mark on the timeline is a growth step.";
  return all.epochs.epoch.length ? "A network during training. Press Play to watch." : "Every linear piece of this network, computed exactly.";
}
