/** The agreement of the labels with a grader, and the last decisions. */

import { useLink } from "../../context.ts";
import { Meaning } from "../../Icon.tsx";
import type { LabelData, StripData } from "../../protocol.ts";
import { Interval, INTERVAL } from "./Interval.tsx";
import type { LabelQueue, Sent } from "./labelQueue.ts";
import { oneLine, plain } from "./Passage.tsx";
import { TagChart } from "./Tags.tsx";
import { named, Select, Term, truthShape } from "./words.tsx";

type Stat = LabelData["stats"][number];
type Past = LabelData["past"][number];

export function LabelStats({ label, queue }: { label: LabelData; queue: LabelQueue }) {
  const differ = label.past.filter(({ same }) => same === false).length;
  return (
    <>
      <StatsHead label={label} />
      {label.new_labels && <UseLabels />}
      <div class="scroll" tabIndex={0} role="group" aria-label="Agreement and decisions">
        {label.stats.length ? label.stats.map((stat) => <StatLine key={stat.name} stat={stat} />) : <NoStats grader={label.grader} />}
        {label.tags.length > 0 && <TagChart tags={label.tags} />}
        <div class="head past-head">
          <h3>Last decisions</h3>
          <span class="grow" />
          {label.past.length > 0 && <span class="tiny faint">{differ} {differ === 1 ? "differs" : "differ"}</span>}
        </div>
        <PastList past={label.past} sent={queue.sent.value} />
      </div>
    </>
  );
}

function StatsHead({ label }: { label: LabelData }) {
  const link = useLink();
  const graders = link.state.rail.value.lines.map(({ name }) => name);
  return (
    <div class="head">
      <h2>Agreement with</h2>
      {graders.length > 0 || label.grader ? (
        <Select class="code" name="Grader to compare with" value={label.grader} choices={named(graders)} choose={(name) => link.tell({ do: "label_grader", name })} />
      ) : <span class="faint">no grader yet</span>}
    </div>
  );
}

function UseLabels() {
  const link = useLink();
  const use = (button: HTMLElement) => {
    // The button disappears with the reply: the card gets the keys.
    button.closest(".mode")?.querySelector<HTMLElement>(".label-card")?.focus({ preventScroll: true });
    link.tell({ do: "use_labels" });
  };
  return (
    <div class="use-labels line">
      <span class="small grow">The findings do not use the new labels yet.</span>
      <button type="button" class="btn" onClick={(event) => use(event.currentTarget)}>Use the labels</button>
    </div>
  );
}

function NoStats({ grader }: { grader: string }) {
  const step = grader ? "The agreement is shown after the first labels." : "Select a grader and press Run to see the agreement here.";
  return <p class="small mute no-stats">{step}</p>;
}

function StatLine({ stat }: { stat: Stat }) {
  if (!stat.of && stat.strip) return <NumberLine stat={stat} strip={stat.strip} />;
  return (
    <div class="stat">
      <p class="line">
        <span class="small mute grow"><Term tip={stat.tip}>{stat.name}</Term></span>
        <b>{stat.of || "–"}</b>
      </p>
      {stat.strip ? <Interval strip={stat.strip} /> : stat.why_none && <p class="small mute">{stat.of && "– "}{stat.why_none}</p>}
    </div>
  );
}

/** A number that is not a share, such as kappa: one line without an axis. */
function NumberLine({ stat, strip }: { stat: Stat; strip: StripData }) {
  return (
    <p class="stat line">
      <span class="small mute grow"><Term tip={stat.tip}>{stat.name}</Term></span>
      <b>{strip.value_text}</b>
      {strip.hi !== null && <span class="small mute" title={INTERVAL}>{strip.interval_text}</span>}
    </p>
  );
}

/** The newest first; those that are not stored yet come before the kernel's. */
function PastList({ past, sent }: { past: Past[]; sent: Sent[] }) {
  const waiting = here(sent);
  const gone = new Set(sent.filter(({ action }) => action === "undo").map(({ card }) => card?.seq));
  const stored = past.filter(({ seq }) => !gone.has(seq) && !waiting.some((each) => each.seq === seq));
  if (!waiting.length && !stored.length) return <p class="small mute no-stats">Nothing decided yet since the app was opened.</p>;
  return (
    <ol class="past">
      {waiting.map((each) => <PastLine key={`w${each.seq}`} past={each} note="to store" />)}
      {stored.map((each) => <PastLine key={each.seq} past={each} />)}
    </ol>
  );
}

const WORDS = { good: "good", bad: "bad", skipped: "skipped", none: "" } as Record<string, string>;

function PastLine({ past, note }: { past: Past; note?: string }) {
  const shape = past.value === null ? "skipped" : truthShape(past.value);
  return (
    <li title={past.id}>
      <Meaning shape={shape} small /><span class="unseen">{WORDS[shape]}: </span>
      <span class={`cut ${past.value === null ? "faint" : ""}`}>{oneLine(past.text) || "(empty)"}</span>
      <span class="tiny">{note ? <span class="faint">{note}</span> : <Same past={past} />}</span>
    </li>
  );
}

function Same({ past }: { past: Past }) {
  if (past.value === null) return <span class="faint">skipped</span>;
  if (past.same === null) return <span class="faint" title="The grader returned no score">no score</span>;
  return past.same ? <span class="faint">same</span> : <b>differs</b>;
}

/** Decisions of this page that the kernel has not confirmed and that were not undone since, newest first. */
function here(sent: Sent[]): Past[] {
  const decided = sent.reduce<Sent[]>((open, each) => {
    if (each.action === "note" || each.action === "tag" || each.action === "defer") return open;
    const others = open.filter(({ card }) => card?.row !== each.card?.row);
    return each.action === "undo" ? others : [...others, each];
  }, []);
  return decided.reverse().flatMap(({ card, action }) => (card ? [pastOf(card, action)] : []));
}

function pastOf(card: NonNullable<Sent["card"]>, action: Sent["action"]): Past {
  const text = plain(card.turns.at(-1)?.text ?? []);
  return { seq: card.seq, id: card.id, text, value: action === "skip" ? null : action === "good", same: null };
}
