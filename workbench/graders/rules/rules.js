// Rules of code graders in JavaScript: equivalent to the Python files next to this one.
// Each function starts at the start of a line and ends with a brace in the first column, so that
// portable_javascript can extract the functions that a grader needs.

function lastAssistant(input) {
  if (input.response || !callsSilently(input)) return input.response || "";
  const replies = input.messages.filter((turn) => turn.role === "assistant" && turn.content);
  return replies.length ? String(replies[replies.length - 1].content) : "";
}

function callsSilently(input) {
  // A last turn that only calls tools has no text: its calls are in toolCalls and in no message.
  const messages = input.messages || [];
  const lastUser = messages.map((turn) => turn.role).lastIndexOf("user");
  const shown = messages.slice(lastUser + 1).flatMap((turn) => turn.tool_calls || []);
  return messages.length > 0 && (input.toolCalls || []).length > shown.length;
}

function referenceOf(input, names) {
  const metadata = input.metadata || {};
  const folded = {};
  for (const key of Object.keys(metadata).reverse()) folded[key.toLowerCase()] = key;
  for (const name of names) if (Object.hasOwn(metadata, name)) return metadata[name] ?? null;
  for (const name of names) if (Object.hasOwn(folded, name)) return metadata[folded[name]] ?? null;
  return null;
}

function jsonText(value) {
  // In Python's format, with a space after each comma and colon.
  if (Array.isArray(value)) return "[" + value.map(jsonText).join(", ") + "]";
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return "{" + Object.entries(value).map(([key, entry]) => JSON.stringify(key) + ": " + jsonText(entry)).join(", ") + "}";
}

function asText(value) {
  return typeof value === "string" ? value : jsonText(value);
}

function textOfReference(input, names) {
  const found = referenceOf(input, names);
  if (found === null) throw new Error("no reference in the metadata under " + names.join(", "));
  return asText(found);
}

function itemText(input, names) {
  const value = names.length > 1 ? referenceOf(input, names) : (input.metadata || {})[names[0]];
  if (value === undefined || (value === null && names.length > 1)) {
    throw new Error("the path item." + names[0] + " leads nowhere");
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

function trimmed(text) {
  // Python's white space, which differs from JavaScript's: with the separators U+001C to U+001F, without U+FEFF.
  const space = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
  return text.replace(new RegExp("^" + space), "").replace(new RegExp(space + "$"), "");
}

function folded(text, ignoreCase, trim) {
  const kept = trim ? trimmed(text) : text;
  return ignoreCase ? kept.toLowerCase() : kept;
}

function normalized(text, steps) {
  const space = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;
  for (const step of steps) {
    if (step === "nfc" || step === "nfkc") text = text.normalize(step.toUpperCase());
    else if (step === "spaces") text = text.replace(/[\u00ad\u200b-\u200f\u2060\ufeff]/g, "").replace(space, " ");
    else if (step === "quotes") {
      text = text.replace(/[\u2018\u2019\u201a\u201b\u2032\u00b4\u2039\u203a\uff07]/g, "'");
      text = text.replace(/[\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\uff02]/g, '"');
    } else text = text.replace(/[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/g, "-");
  }
  return text;
}

function textsIn(expected) {
  let values = null;
  try {
    values = JSON.parse(expected);
  } catch (error) {
    values = null;
  }
  if (!Array.isArray(values) || !values.length || values.some((value) => value !== null && typeof value === "object")) {
    throw new Error("the reference is not a list of texts");
  }
  return values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
}

function occurs(text, expected, how, words) {
  if (how === "equals") return text === expected;
  if (!words) {
    if (how === "starts") return text.startsWith(expected);
    return how === "ends" ? text.endsWith(expected) : text.includes(expected);
  }
  // A boundary is required only next to a letter or digit of the expected text.
  const wide = (part) => /^[_\p{L}\p{N}]$/u.test(part);
  const signs = [...expected];
  const before = signs.length && wide(signs[0]) ? "(?<![_\\p{L}\\p{N}])" : "";
  const after = signs.length && wide(signs[signs.length - 1]) ? "(?![_\\p{L}\\p{N}])" : "";
  const escaped = expected.replace(/[\\^$.*+?()[\]{}|\/]/g, "\\$&");
  return new RegExp((how === "starts" ? "^" : "") + before + escaped + after + (how === "ends" ? "$" : ""), "u").test(text);
}

function matches(text, expected, options) {
  const plain = (one) => folded(normalized(one, options.normalize), options.ignore_case, options.trim);
  const wanted = options.several ? textsIn(expected) : [expected];
  const given = plain(text);
  const found = wanted.filter((one) => occurs(given, plain(one), options.how, options.words));
  const matched = options.several === "all" ? found.length === wanted.length : found.length > 0;
  return matched !== options.negate;
}

function exactMatch(text, expected, ignoreCase, trim) {
  return folded(text, ignoreCase, trim) === folded(expected, ignoreCase, trim);
}

function contains(text, expected, ignoreCase) {
  return folded(text, ignoreCase, false).includes(folded(expected, ignoreCase, false));
}

function asciiPrintable(text) {
  return /^[ -~\n\r]*$/.test(text);
}

function stringCheck(text, reference, operation) {
  if (operation === "eq") return text === reference;
  if (operation === "ne") return text !== reference;
  return contains(text, reference, operation === "ilike");
}

function measure(text, unit) {
  if (unit === "utf16") return text.length;
  if (unit === "characters") return [...text].length;
  const words = /[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;
  return (text.match(words) || []).length;
}

function lengthWithin(text, minimum, maximum, unit) {
  const count = measure(text, unit);
  return (minimum === null || count >= minimum) && (maximum === null || count <= maximum);
}

function labelSet(text, labels, passingLabels, ignoreCase, trim, normalize) {
  const plain = (one) => folded(normalized(one, normalize), ignoreCase, trim);
  const given = plain(text);
  const found = [...passingLabels, ...labels].find((label) => plain(label) === given);
  return found !== undefined && passingLabels.includes(found);
}

function hasPath(value, path) {
  for (const part of path.split(".").filter((name) => name)) {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return false;
    if (!Object.hasOwn(value, part)) return false;
    value = value[part];
  }
  return true;
}

function jsonKeys(text, keys, requireAll) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return false;
  }
  const found = keys.filter((key) => hasPath(value, key)).length;
  return requireAll ? found === keys.length : found > 0;
}

function callsOf(input) {
  // input.toolCalls are those since the last user turn; earlier ones are in their messages.
  const messages = input.messages || [];
  const lastUser = messages.map((turn) => turn.role).lastIndexOf("user");
  const earlier = messages.slice(0, lastUser + 1).flatMap((turn) => turn.tool_calls || []);
  return [...earlier, ...(input.toolCalls || [])];
}

function toolNames(calls) {
  const inner = calls.filter((call) => call && typeof call === "object");
  const named = inner.map((call) => (call.function && typeof call.function === "object" ? call.function : call).name);
  return named.filter((name) => typeof name === "string" && name);
}

function toolCall(actual, expected, mode, order, ignoreCase) {
  const wanted = expected.map((name) => folded(name, ignoreCase, false));
  const called = actual.map((name) => folded(name, ignoreCase, false));
  const any = wanted.some((name) => called.includes(name));
  if (mode === "any") return any;
  if (mode === "none") return !any;
  const all = wanted.every((name) => called.includes(name));
  if (mode === "set") return all && called.every((name) => wanted.includes(name));
  if (!all || (mode === "exact" && called.length !== wanted.length)) return false;
  return !order || JSON.stringify(called.filter((name) => wanted.includes(name))) === JSON.stringify(wanted);
}
