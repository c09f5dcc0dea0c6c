/** Label: a card over the rows, handled by the page immediately; decisions that are not stored yet are counted. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { useLink } from "../context.ts";
import type { LabelData } from "../protocol.ts";
import { CardAhead, LabelCard } from "./parts/LabelCard.tsx";
import { LabelStats } from "./parts/LabelStats.tsx";
import { actOn, keyAction, NO_KEYS } from "./parts/labelKeys.ts";
import { queueOf, tally, type LabelQueue } from "./parts/labelQueue.ts";
import { counted, Empty, Loading, Select } from "./parts/words.tsx";

export function Label() {
  const link = useLink();
  const queue = queueOf(link);
  const label = link.state.label.value;
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => focusCard(root.current), []); // before the next key
  const onKeyDown = (event: KeyboardEvent) => {
    const action = keyAction(event, label?.keys ?? NO_KEYS);
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.repeat) return;
    keepFocus(event.target as Element);
    actOn(queue, action);
  };
  return (
    <div class="mode mode-label" ref={root} onKeyDown={onKeyDown}>
      <section aria-label="Label rows">
        {label && <LabelHead label={label} queue={queue} />}
        {label && <Progress label={label} queue={queue} />}
        <Deck label={label} queue={queue} />
      </section>
      <section aria-label="Agreement">{label && <LabelStats label={label} queue={queue} />}</section>
    </div>
  );
}

/** The keys belong to the card as soon as the mode opens, unless the user types elsewhere in the page. */
function focusCard(root: HTMLElement | null): void {
  const active = (root?.getRootNode() as Document | ShadowRoot | undefined)?.activeElement;
  const free = !active || active === document.body || Boolean(root?.closest(".gwb")?.contains(active));
  if (free) root?.querySelector<HTMLElement>(".label-card")?.focus({ preventScroll: true });
}

/** A card's texts are removed with it, so the focus moves to the card and later keys are not lost. */
function keepFocus(target: Element): void {
  if (target.closest(".texts, .expected")) target.closest<HTMLElement>(".label-card")?.focus({ preventScroll: true });
}

function LabelHead({ label, queue }: { label: LabelData; queue: LabelQueue }) {
  const link = useLink();
  const orders = label.orders.map(({ name, tip }) => ({ value: name, text: name, tip }));
  const tip = label.orders.find(({ name }) => name === label.order)?.tip ?? "";
  const { done, good, bad, skipped, deferred } = tally(label, queue.sent.value);
  const waiting = queue.sent.value.length;
  return (
    <div class="head">
      <h2>Is this completion good?</h2>
      <Select name="Order of the rows" tip={tip} value={label.order} choices={orders} choose={(order) => link.tell({ do: "label_order", order })} />
      <span class="grow" />
      {waiting > 0 && <span class="small to-store" title="Decided here, not yet confirmed by the kernel">{waiting} to store</span>}
      <span class="small mute cut"><b>{done.toLocaleString("en")}</b> of {label.total.toLocaleString("en")}: {good} good, {bad} bad, {skipped} skipped{deferred > 0 && `, ${deferred} deferred`}</span>
    </div>
  );
}

function Progress({ label, queue }: { label: LabelData; queue: LabelQueue }) {
  const { done, good, bad, skipped } = tally(label, queue.sent.value);
  const part = (count: number) => ({ width: `${(100 * count) / Math.max(1, label.total)}%` });
  return (
    <div class="label-progress" role="progressbar" aria-label="Rows decided" aria-valuemin={0} aria-valuenow={done} aria-valuemax={Math.max(1, label.total)}>
      <i class="good" style={part(good)} />
      <i class="bad" style={part(bad)} />
      <i class="skipped" style={part(skipped)} />
    </div>
  );
}

function Deck({ label, queue }: { label: LabelData | null; queue: LabelQueue }) {
  const card = queue.current();
  const ahead = queue.cards.value.slice(1, 3);
  return (
    <div class="deck">
      <LabelCard label={label} card={card} queue={queue}>
        {!card && <NoCard label={label} queue={queue} />}
      </LabelCard>
      {card && ahead.map((each) => <CardAhead key={each.row} card={each} />)}
    </div>
  );
}

/** Shown instead of a card. */
function NoCard({ label, queue }: { label: LabelData | null; queue: LabelQueue }) {
  if (queue.waitsForUndo()) return <Loading what="reading the previous row" />;
  if (!label) return <Loading what="reading the rows to label" />;
  if (!label.total) return <Empty title="No row to label" step="Select another order, or draw more rows in the toolbar." />;
  if (queue.sent.value.length || tally(label, []).done < label.total) return <Loading what="reading the next rows" />;
  return <Empty title="Every row of this queue is decided" step={`${counted(label.total, "row")} decided: use the labels for the findings, or select another order.`} />;
}
