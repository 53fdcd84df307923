/** A subset of RFC 6570: `notes://{folder}/{+path}`. A variable matches anything but `/`; with `+` it also matches `/`. */
export interface UriTemplate {
  /** The decoded variables of a URI that matches; undefined if it does not match. */
  match(uri: string): Record<string, string> | undefined;
}

const variable = /\{(\+?)([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Throws for any other expression (`{?query}`, `{/path}`), which would otherwise be matched wrongly and silently. */
export function parseUriTemplate(text: string): UriTemplate {
  const variables = [...text.matchAll(variable)].map(([, plus, name]) => ({ plus, name: name as string }));
  const literals = text.split(variable).filter((_, i) => i % 3 === 0);
  if (literals.some((literal) => /[{}]/.test(literal)))
    throw new Error(
      `the template "${text}" has an expression other than {name} and {+name}, which are the only ones supported`,
    );
  const parts = variables.map(
    ({ plus }, i) => `${plus ? '(.+)' : '([^/]+)'}${RegExp.escape(literals[i + 1] ?? '')}`,
  );
  const pattern = new RegExp(`^${RegExp.escape(literals[0] ?? '')}${parts.join('')}$`);
  return {
    match(uri) {
      const found = pattern.exec(uri);
      if (!found) return undefined;
      try {
        return Object.fromEntries(
          variables.map(({ name }, i) => [name, decodeURIComponent(found[i + 1] ?? '')]),
        );
      } catch {
        return undefined; // invalid percent-encoding, so not a URI of this template
      }
    },
  };
}
