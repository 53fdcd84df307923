/** An input with the names of now in place of old ones. A name that is there already is not overwritten. */
export function withoutAliases(input: unknown, aliases: Readonly<Record<string, string>>): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  const old = Object.keys(input).filter(
    (name) => Object.hasOwn(aliases, name) && !Object.hasOwn(input, aliases[name] as string),
  );
  if (old.length === 0) return input;
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [old.includes(name) ? aliases[name] : name, value]),
  );
}
