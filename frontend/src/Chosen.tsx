/** The selected grader: its source, its checks, its findings, its scores. */

import { Changed } from "./Changed.tsx";
import { Checks } from "./Checks.tsx";
import { ChosenHead } from "./ChosenHead.tsx";
import { useLink } from "./context.ts";
import { Editor } from "./Editor.tsx";
import { Finding } from "./Finding.tsx";
import { From } from "./From.tsx";
import { Meaning } from "./Icon.tsx";
import type { Chosen as ChosenData, Notice as NoticeData } from "./protocol.ts";
import { Scores } from "./Scores.tsx";
import { useTell, useView } from "./view.ts";

export function Chosen() {
  const chosen = useLink().state.chosen.value;
  const view = useView();
  if (!chosen.name) return <NoneChosen />;
  return (
    <section class="mid" aria-label="The selected grader">
      <ChosenHead chosen={chosen} />
      <div class={`scroll ${chosen.scores ? "scored" : ""} ${view.tall.value ? "tall" : ""}`} tabIndex={-1}>
        <Editor />
        <Checks checks={chosen.checks} isolation={chosen.isolation} />
        {chosen.notice && <Notice notice={chosen.notice} />}
        <div class={view.old.value || chosen.refused ? "answer old" : "answer"} aria-busy={view.old.value}>
          <Answer chosen={chosen} />
        </div>
      </div>
    </section>
  );
}

function Notice({ notice: { text, link, act, other } }: { notice: NoticeData }) {
  const tell = useTell();
  return (
    <p class="other-text small" role="status">
      {text} {link && <button type="button" class="link" onClick={() => tell(act)}>{link}</button>}
      {other && <> <button type="button" class="link" onClick={() => tell(other.act)}>{other.link}</button></>}
    </p>
  );
}

function NoneChosen() {
  return (
    <section class="mid" aria-label="The selected grader">
      <p class="say mute">Select a grader on the left to see its source, findings and scores.</p>
    </section>
  );
}

function Answer({ chosen }: { chosen: ChosenData }) {
  const { changed, finding, more, scores, from, say, waits, undiagnosed } = chosen;
  return (
    <>
      {changed && <Changed changed={changed} name={chosen.name} />}
      {waits && <p class="waits small mute"><Meaning shape="wait" small /> {waits}</p>}
      {finding && <Finding finding={finding} old={undiagnosed} />}
      {!finding && say && <p class="say mute">{say}</p>}
      {scores && (
        <div class="dist">
          <Scores scores={scores} grader={chosen.name} />
          {from && <From from={from} />}
        </div>
      )}
      {more.length > 0 && (
        <section class="more" aria-label="More findings">
          {more.map((each) => <Finding key={`${each.kind}${each.lead}`} finding={each} small old={undiagnosed} />)}
        </section>
      )}
    </>
  );
}
