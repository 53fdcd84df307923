/** RFC 6570, simple expansion only: `notes://{folder}/{name}`; a variable matches anything but `/`. */
export interface UriTemplate {
  /** The variables of a URI that fits, decoded; undefined where it does not fit. */
  match(uri: string): Record<string, string> | undefined;
}

const variable = /\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Throws for any other expression (`{+path}`, `{?query}`): it would be matched wrongly in silence. */
export function parseUriTemplate(text: string): UriTemplate {
  const names = [...text.matchAll(variable)].map(([, name]) => name as string);
  const literals = text.split(variable).filter((_, i) => i % 2 === 0);
  if (literals.some((literal) => /[{}]/.test(literal)))
    throw new Error(`the template "${text}" has an expression other than {name}`);
  const pattern = new RegExp(`^${literals.map(escaped).join('([^/]+)')}$`);
  return {
    match(uri) {
      const found = pattern.exec(uri);
      if (!found) return undefined;
      try {
        return Object.fromEntries(names.map((name, i) => [name, decodeURIComponent(found[i + 1] ?? '')]));
      } catch {
        return undefined; // no valid percent-encoding: no URI of this template
      }
    },
  };
}

const escaped = (literal: string) => literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
