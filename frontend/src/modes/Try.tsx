/** Try: one conversation whose answer one changes, and what every grader says of it. */

import { useLink } from "../context.ts";
import { TryForm } from "./parts/TryForm.tsx";
import { TrySays } from "./parts/TrySays.tsx";
import { Empty } from "./parts/words.tsx";

export function Try() {
  const link = useLink();
  const data = link.state.try_out.value;
  return (
    <div class="mode half mode-try">
      <section aria-label="Conversation"><TryForm data={data} /></section>
      <section aria-label="Graders">
        <div class="head"><h2>What the graders say</h2></div>
        {data?.lines.length ? <TrySays data={data} /> : <Nobody data={Boolean(data)} />}
      </section>
    </div>
  );
}

function Nobody({ data }: { data: boolean }) {
  return <Empty title="Nobody says anything yet" step={data ? "Add a grader on the left, or define one with @wb.grader in any cell." : "Choose a row on the left first."} />;
}
