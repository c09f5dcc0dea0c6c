(function () {
  'use strict';
  // Everything the script could replace is saved before it runs; later replacements affect only the script.
  const parse = JSON.parse, stringify = JSON.stringify, Fn = Function, Str = String, P = Promise;
  const keys = Object.keys, bare = Object.create, isArray = Array.isArray;
  const uncurried = Fn.prototype.bind.bind(Fn.prototype.call);
  const slice = uncurried(Str.prototype.slice), includes = uncurried(Str.prototype.includes);
  const then = uncurried(P.prototype.then), Internal = globalThis.InternalError;
  const hasInstance = uncurried(Fn.prototype[Symbol.hasInstance]);
  let grade, strict, box, ticket = 0, log = '';

  function answer(type, first, second, third) {
    const out = bare(null);
    out.type = type; out.first = first; out.second = second; out.third = third;
    return stringify(out);
  }
  const NO_MEMORY = answer('thrown', 'InternalError', 'out of memory', '');
  const UNSERIALIZABLE = '{"_error":{"code":"metadata_not_serializable","detail":"a cycle, a BigInt, too deep, or too large"}}';
  // Whether no memory is left to inspect an error; determined without allocating any.
  function full(error) { return typeof Internal === 'function' && hasInstance(Internal, error); }
  function text(value) { return typeof value === 'string' ? slice(value, 0, 20000) : ''; }
  // The thrown value, of any type, possibly with getters and a toString method.
  function thrown(error) {
    let name = '', message = '', stack = '';
    if (error !== null && (typeof error === 'object' || typeof error === 'function')) {
      try { name = text(error.name); message = text(error.message); stack = text(error.stack); } catch (e) { if (full(e)) return NO_MEMORY; }
      if (!name && !message) {
        try { message = text(Str(error)); } catch (e) { if (full(e)) return NO_MEMORY; message = 'something that cannot be shown'; }
      }
    } else {
      message = typeof error === 'symbol' ? 'a symbol' : text(Str(error));
    }
    return answer('thrown', name, slice(message, 0, 2000), stack);
  }
  // Console output of a script is stored, up to a limit, and shown like the printed output of a Python grader.
  function spoken(value) {
    if (typeof value !== 'object' || value === null) return Str(value);
    try { return stringify(value) || 'an object'; } catch (e) { return 'an object'; }
  }
  function say(...parts) {
    let line = '';
    for (let i = 0; i < parts.length; i++) line += (i ? ' ' : '') + spoken(parts[i]);
    if (log.length < 10000) log += slice(line, 0, 10000 - log.length) + '\n';
  }
  const speaker = bare(null);
  speaker.log = speaker.info = speaker.warn = speaker.error = speaker.debug = say;
  globalThis.console = speaker;
  function shown(value) {
    if (typeof value === 'string') return stringify(slice(value, 0, 80));
    if (typeof value === 'bigint') return slice(Str(value), 0, 80) + 'n';
    if (typeof value === 'function') return 'a function';
    if (value === null || typeof value !== 'object') return Str(value);
    if (isArray(value)) return 'an array';
    try { return 'an object with the keys ' + slice(stringify(keys(value)), 0, 80); } catch (e) { return 'an object'; }
  }
  function kind(value) { return value === null ? 'null' : isArray(value) ? 'array' : typeof value; }
  function refused(value) { return answer('refused', shown(value), kind(value)); }
  // A result object: each property is read once, so that a getter cannot return two values.
  function result(value) {
    const score = value.score;
    let reason = value.reason;
    if (reason === undefined) reason = value.reasoning;
    if (typeof score !== 'number') return answer('no score', shown(score), kind(score));
    const rest = bare(null);
    const names = keys(value);
    for (let i = 0; i < names.length && i < 100; i++) {
      const key = names[i];
      if (key !== 'score' && key !== 'reason' && key !== 'reasoning') rest[key] = value[key];
    }
    let extra;
    try { extra = stringify(rest); } catch (e) { extra = UNSERIALIZABLE; }
    return answer('result', Str(score), typeof reason === 'string' ? text(reason) : undefined, extra);
  }
  function settled(value) {
    if (typeof value === 'number') return value;
    if (strict || value === null || typeof value !== 'object' || isArray(value)) return refused(value);
    try { return result(value); } catch (error) { return thrown(error); }
  }
  function wait(value) {
    const mine = ++ticket;
    const put = made => { if (mine === ticket) box = made; };
    box = undefined;
    then(new P(done => done(value)), found => put(settled(found)), error => put(thrown(error)));
    return undefined;
  }
  function run(json) {
    let value, next;
    ticket++;
    try {
      const input = parse(json);
      input.history = input.messages;
      value = grade(input);
      if (value !== null && typeof value === 'object') next = value.then;
    } catch (error) { return thrown(error); }
    return typeof next === 'function' ? wait(value) : settled(value);
  }
  // Compiled, not run: function declarations exist before the first statement, which is the return inserted here.
  function probe(name, body) {
    const look = 'try { const f = ' + name + "; return typeof f === 'function' ? f : 0; } catch (e) { return e.message; }\n";
    const found = new Fn(look + body)();
    if (typeof found === 'function') return answer('function', found.length, slice(Str(found), 0, 2000));
    return answer(found === 0 || !includes(found, 'not defined') ? 'later' : 'none');
  }
  return function (what, given, more) {
    if (what === 'run') return run(given);
    if (what === 'box') return box;
    if (what === 'log') { const printed = answer('log', log); log = ''; return printed; }
    if (what === 'compile') { try { new Fn(given); return answer('fine'); } catch (error) { return thrown(error); } }
    if (what === 'probe') return probe(given, more);
    grade = given; strict = more;
    return answer('function', given.length, slice(Str(given), 0, 2000));
  };
})()
