import type { ModelEndpoint } from './model-proxy.ts';

const proxyVariables = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'];

/** Variables that choose models; they hold no secret, so that a sandbox may have them. */
const choosesModel = /^ANTHROPIC_(MODEL|SMALL_FAST_MODEL|DEFAULT_[A-Z]+_MODEL)$/;

/**
 * Reads where the model is, and the credentials for it, from the variables of sessions. Returns the reason when a sandbox cannot
 * reach such a model.
 */
export function modelEndpointOf(env: Readonly<Record<string, string>>): ModelEndpoint | { refused: string } {
  for (const name of ['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX'])
    if (env[name] && env[name] !== '0')
      return { refused: `${name} is set, and requests to it would have to be signed outside the sandbox` };
  const headers: Record<string, string> = {};
  if (env.ANTHROPIC_API_KEY) headers['x-api-key'] = env.ANTHROPIC_API_KEY;
  if (env.ANTHROPIC_AUTH_TOKEN) headers.authorization = `Bearer ${env.ANTHROPIC_AUTH_TOKEN}`;
  for (const line of env.ANTHROPIC_CUSTOM_HEADERS?.split('\n') ?? []) {
    const [, name, value] = /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    if (name && value !== undefined) headers[name.toLowerCase()] = value;
  }
  const proxyEnv = Object.fromEntries(
    proxyVariables.flatMap((name) => (env[name] ? [[name, env[name]]] : [])),
  );
  return { url: new URL(env.ANTHROPIC_BASE_URL || 'https://api.anthropic.com'), headers, proxyEnv };
}

/** The variables of a session in a sandbox: no credential among them. */
export const modelVariablesOf = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => choosesModel.test(name)));
