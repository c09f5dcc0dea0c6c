/** Languages of graders and their syntax colours. */

import { javascript } from "@codemirror/lang-javascript";
import { json, jsonLanguage } from "@codemirror/lang-json";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { tags } from "@lezer/highlight";
import type { SourceText } from "../protocol.ts";

const style = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.moduleKeyword, tags.definitionKeyword, tags.bool, tags.null, tags.self, tags.atom], color: "var(--code-kw)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp, tags.docString], color: "var(--code-str)" },
  { tag: [tags.number], color: "var(--code-num)" },
  { tag: [tags.comment], color: "var(--code-com)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], color: "var(--code-fn)" },
  { tag: [tags.invalid], color: "var(--failed)" },
]);

/** In JSON the names are highlighted. */
const names = HighlightStyle.define([{ tag: tags.propertyName, color: "var(--code-fn)" }], { scope: jsonLanguage });

const LANGUAGES: Record<SourceText["language"], () => Extension> = {
  python: () => [python(), indentUnit.of("    ")],
  javascript: () => [javascript(), indentUnit.of("  ")],
  json: () => [json(), syntaxHighlighting(names), indentUnit.of("  ")],
  "": () => [],
};

export function language(name: SourceText["language"]): Extension {
  return [LANGUAGES[name](), syntaxHighlighting(style)];
}
