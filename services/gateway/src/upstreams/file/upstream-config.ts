import { z } from 'zod';

const texts = z.record(z.string(), z.string());

/** How an upstream authenticates this gateway: OAuth client credentials. */
const ClientCredentials = z.object({
  clientId: z.string().min(1),
  clientSecret: z.string().min(1),
  /** The only authorization server that is sent the secret. */
  issuer: z.url(),
  /** Where its token endpoint is, if that is at another address than the issuer. */
  tokenUrl: z.url().optional(),
  scope: z.string().optional(),
});

/** Fields that every kind of upstream may have. */
const common = {
  /** Which tools are offered, by the upstream's own names; `*` stands for any text, a leading `!` excludes. Default: all. */
  tools: z.array(z.string().min(1)).optional(),
  /** Names for tools and prompts, by the upstream's own names. */
  rename: texts.default({}),
  /** Longest call, ms. */
  timeoutMs: z.int().min(1).max(86_400_000).default(300_000),
  /** `shared`: one connection for all callers. `thread`: one for each thread, for servers that keep state. */
  scope: z.enum(['shared', 'thread']).default('shared'),
  /** The only tenants that are given the upstream. Default: all. */
  tenants: z.array(z.string().min(1)).optional(),
  /** Most tools that are offered; the rest is a diagnostic. */
  maxTools: z.int().min(0).max(10_000).default(500),
  disabled: z.boolean().default(false),
};

const absolutePath = z.string().regex(/^\/(?!$)/, 'must be an absolute path, and not all of the machine');

/** What encloses a child process; `true`: it has nothing but its own. */
const Sandbox = z.preprocess(
  (written) => (written === true ? {} : written === false ? undefined : written),
  z
    .strictObject({
      /** Whether it has the network of the machine. */
      network: z.boolean().default(false),
      /** Files and folders that it may read, besides the system. */
      read: z.array(absolutePath).default([]),
    })
    .optional(),
);

const Stdio = z.object({
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String)).default({}),
  cwd: z.string().optional(),
  sandbox: Sandbox,
  ...common,
});

const Http = z.object({
  url: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }),
  headers: texts.default({}),
  auth: ClientCredentials.optional(),
  ...common,
});

const OpenApi = z.object({
  /** The document: a path of this machine, or a URL. */
  openapi: z.string().min(1),
  /** The address of the API. Default: what the document says, if it is at the same address as the document. */
  baseUrl: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
  headers: texts.default({}),
  auth: ClientCredentials.optional(),
  /** Which operations are tools: `GET /pets*` by method and path, others by operationId; a leading `!` excludes. Default: all. */
  operations: z.array(z.string().min(1)).optional(),
  ...common,
});

/** A child process that speaks MCP over standard input and output. */
export type StdioUpstream = z.infer<typeof Stdio> & { name: string; kind: 'stdio' };
/** A server of MCP's Streamable HTTP. */
export type HttpUpstream = z.infer<typeof Http> & { name: string; kind: 'http' };
/** An HTTP API with an OpenAPI document. */
export type OpenApiUpstream = z.infer<typeof OpenApi> & { name: string; kind: 'openapi' };
/** One upstream of the file. `name` is its plugin name, made from the name in the file. */
export type UpstreamConfig = StdioUpstream | HttpUpstream | OpenApiUpstream;

/** Names by which clients call the transports that are supported here. */
const kinds = new Map<string, 'stdio' | 'http'>([
  ['stdio', 'stdio'],
  ['http', 'http'],
  ['streamable-http', 'http'],
  ['streamableHttp', 'http'],
  ['streamable_http', 'http'],
]);

/** Fields of other clients that mean nothing here, and need no warning. */
const foreign = new Set([
  'type',
  'transport',
  'description',
  'alwaysAllow',
  'autoApprove',
  'dev',
  'gallery',
  'version',
  'trust',
  'enabled',
  'envFile',
]);

/** Reads one entry. Throws an Error that says what is wrong; `warn` gets what is ignored. */
export function parseUpstream(name: string, entry: unknown, warn: (problem: string) => void): UpstreamConfig {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
    throw new Error('must be an object with "command" or "url"');
  const { type, transport, serverUrl, ...rest } = entry as Record<string, unknown>;
  const fields: Record<string, unknown> = {
    ...rest,
    ...(serverUrl !== undefined && rest.url === undefined && { url: serverUrl }),
  };
  const kind = kindOf(fields, type ?? transport);
  if (kind === undefined)
    throw new Error(
      `the transport ${JSON.stringify(type ?? transport)} is not supported: use "stdio", or "http" (Streamable HTTP), which has replaced "sse"`,
    );
  if (fields.enabled === false) Object.assign(fields, { disabled: true });
  if ('envFile' in fields) warn('"envFile" is not read: name the variables in "env"');
  const schema = { stdio: Stdio, http: Http, openapi: OpenApi }[kind];
  for (const field of Object.keys(fields))
    if (!Object.hasOwn(schema.shape, field) && !foreign.has(field))
      warn(`"${field}" is not a field of an upstream and is ignored`);
  const parsed = schema.safeParse(fields);
  if (!parsed.success)
    throw new Error(
      parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'entry'}: ${message}`).join('; '),
    );
  return { ...parsed.data, name, kind } as UpstreamConfig;
}

function kindOf(fields: Record<string, unknown>, written: unknown): 'stdio' | 'http' | 'openapi' | undefined {
  if ('openapi' in fields) return 'openapi';
  if (written !== undefined) return kinds.get(String(written));
  return 'command' in fields ? 'stdio' : 'http';
}
