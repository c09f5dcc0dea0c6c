// Renders a batch of cases with the real Handlebars and mustache: JSON lines in, a JSON list out.
const path = require("path");
const folder = process.argv[2];
const Handlebars = require(path.join(folder, "handlebars"));
const Mustache = require(path.join(folder, "mustache"));

// With noEscape, Handlebars adds adjacent numbers ({{1}}{{2}} is 3); an escape that only writes text does not.
Handlebars.Utils.escapeExpression = (value) => (value === null || value === undefined ? "" : String(value));
Handlebars.registerHelper("raw", (options) => options.fn());
Handlebars.logger.log = () => {};
Mustache.escape = (value) => value;

function render({ dialect, text, values }) {
  try {
    if (dialect === "mustache") return { text: Mustache.render(text, values, {}) };
    return { text: Handlebars.compile(text)(values) };
  } catch (error) {
    return { error: String(error.message || error) };
  }
}

let input = "";
process.stdin.on("data", (chunk) => (input += chunk));
process.stdin.on("end", () => process.stdout.write(JSON.stringify(JSON.parse(input).map(render))));
