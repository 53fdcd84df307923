/**
 * Prepends to a script the library definitions that it uses, directly or indirectly, and no others: Redis
 * runs the whole text at every call, and creating a hundred unused functions took longer than the work
 * itself. The library files are listed in scripts.ts.
 *
 * A definition begins with an unindented line and ends before the next one; lines that only close it (`end`,
 * `}`) belong to it. It defines the names after `local`, `local function`, or before ` = `.
 */

interface Definition {
  names: string[];
  text: string;
}

const comment = /^\s*--.*$/gm;
const word = /[A-Za-z_]\w*/g;

/**
 * The complete text of a script. `library`: the shared definitions, in an order in which Lua may run them;
 * `limits`: `C.<name>` becomes the number, since Lua would build a table of them at every call. Throws for an unindented library
 * line that defines nothing, and for a limit that does not exist.
 */
export function linkScript(library: string, script: string, limits: object): string {
  const definitions = definitionsOf(library);
  const body = script.replace(comment, '').trim();
  const used = new Set(wordsOf(body));
  const included = new Set<Definition>();
  for (let found = true; found; ) {
    found = false;
    for (const definition of definitions) {
      if (included.has(definition) || !definition.names.some((name) => used.has(name))) continue;
      included.add(definition);
      for (const name of wordsOf(definition.text)) used.add(name);
      found = true;
    }
  }
  const texts = definitions.filter((definition) => included.has(definition)).map(({ text }) => text);
  const numbers = new Map(Object.entries(limits));
  return [...texts, body].join('\n').replace(/\bC\.(\w+)/g, (_text, name: string) => {
    if (!numbers.has(name)) throw new Error(`There is no limit "${name}".`);
    return String(Number(numbers.get(name)));
  });
}

const wordsOf = (text: string): string[] => text.match(word) ?? [];

function definitionsOf(library: string): Definition[] {
  const definitions: Definition[] = [];
  for (const line of library.replace(comment, '').split('\n')) {
    if (line.trim() === '') continue;
    const continues = /^(\s|end\b|[)}])/.test(line);
    const last = definitions.at(-1);
    if (continues && last) last.text += `\n${line}`;
    else definitions.push({ names: namesOf(line), text: line });
  }
  return definitions;
}

/** Throws for an unindented line that defines nothing: no script would include it. */
function namesOf(line: string): string[] {
  const ofFunction = /^local function (\w+)/.exec(line)?.[1];
  if (ofFunction) return [ofFunction];
  const names = /^(?:local )?([\w, ]+?)(?: =|$)/.exec(line)?.[1]?.split(/, ?/);
  if (!names)
    throw new Error(`This line of the Lua library defines nothing, so no script would include it: ${line}`);
  return names;
}
