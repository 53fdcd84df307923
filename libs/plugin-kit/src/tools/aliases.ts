/** Renames the properties of an input from old names to new ones. Does not overwrite a property that is present. */
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
