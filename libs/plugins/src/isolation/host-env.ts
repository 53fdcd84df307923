/** Variables that a plugin process does not get: access to Redis and to models, and secrets. */
const withheld = [
  /^REDIS_/,
  /^ANTHROPIC_/,
  /^CLAUDE/,
  /^AWS_/,
  /^GOOGLE_/,
  /^HARNESS_INPUT_/, // the values of ${input:id}
  /^OTEL_EXPORTER_OTLP_(.*_)?HEADERS$/,
  /^HARNESS_.*(KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL)/,
];

/** The owner's environment without the withheld variables. */
export const hostEnvOf = (env: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !withheld.some((pattern) => pattern.test(entry[0])),
    ),
  );
