/** The last action in code, as a line to copy. Code that the line may not have room for opens above it. */

import { useRef, useState } from "preact/hooks";
import { useLink } from "./context.ts";
import { copyText, selectText } from "./download.ts";
import { Icon } from "./Icon.tsx";
import { tokens } from "./python.ts";

/** Characters that the line has room for in any width. */
const ALWAYS_FITS = 40;

export function Foot() {
  const code = useLink().state.code.value;
  const [open, setOpen] = useState(false);
  const [copied, setCopied] = useState(false);
  const shown = useRef<HTMLElement>(null);
  const [first = "", ...others] = code.split("\n");
  const copy = async () => {
    const done = await copyText(code);
    if (!done && shown.current) selectText(shown.current);
    setCopied(done);
    setTimeout(() => setCopied(false), 1_500);
  };
  const long = others.length > 0 || first.length > ALWAYS_FITS;
  return (
    <footer class="foot" onKeyDown={(event) => event.key === "Escape" && setOpen(false)}>
      {long && open && <pre class="whole" tabIndex={0} aria-label="the same in code"><code><Python code={code} /></code></pre>}
      <span class="tiny faint title">The same in code</span>
      {long ? (
        <button type="button" class="cut grow first" aria-expanded={open} title="Show all of it" onClick={() => setOpen(!open)}>
          <code ref={shown}><Python code={first} /></code>{others.length > 0 && <span class="faint"> … {others.length} more</span>}
        </button>
      ) : (
        <code class="cut grow" title={code} ref={shown}><Python code={first} /></code>
      )}
      <button type="button" class="btn plain" disabled={!code} onClick={copy}>
        <Icon name={copied ? "tick" : "copy"} />{copied ? "Copied" : "Copy"}
      </button>
    </footer>
  );
}

/** Python text with muted colours, rendered as text. */
export function Python({ code }: { code: string }) {
  return <>{tokens(code).map(([text, kind], at) => (kind ? <span key={at} class={kind}>{text}</span> : text))}</>;
}
