/**
 * Every code block of the documents, and how a test checks it (e2e/documents.test.ts, e2e/code-blocks.test.ts). A block that is missing here fails, and so does
 * an entry without its block.
 */
export interface CodeBlock {
  document: string;
  /** A text that no other block of the document has. */
  has: string;
  /**
   * runs: `by` a test runs or loads the block as it stands. quotes: the block stands in the file `by`. parses: the parser of its language
   * reads it, for the reason `why`.
   */
  check: { runs: string } | { quotes: string } | { parses: string };
}

/** The test that runs most blocks. */
const here = { runs: 'services/local/test/e2e/code-blocks.test.ts' };
const picture = { parses: 'a picture' };
const before = { parses: 'code for the harness before this one' };

/** In the order of the documents. */
export const codeBlocks: readonly CodeBlock[] = [
  { document: 'README.md', has: 'npm run demo', check: here },
  { document: 'README.md', has: '"threadId":"hello"', check: here },
  { document: 'README.md', has: 'runtime, dispatch, plugin-kit, workspaces, console', check: here },
  {
    document: '.github/CONTRIBUTING.md',
    has: "operationId: 'listWorkers'",
    check: { quotes: 'services/gateway/src/rest/operate/workers.ts' },
  },
  {
    document: '.github/CONTRIBUTING.md',
    has: "lua['cancel-run']",
    check: { quotes: 'libs/dispatch/src/thread/runs.ts' },
  },
  { document: '.github/CONTRIBUTING.md', has: 'a message is answered', check: here },
  { document: 'services/client/README.md', has: 'What time is it?', check: here },
  { document: 'services/client/README.md', has: '"--bare"', check: here },
  { document: 'services/console/README.md', has: 'main.tsx', check: picture },
  { document: 'services/console/README.md', has: 'KeysPage', check: here },
  { document: 'services/gateway/access.md', has: 'npm run keys -- create', check: here },
  { document: 'services/gateway/access.md', has: '$URL/v1/keys', check: here },
  { document: 'services/gateway/access.md', has: 'requestsPerSecond', check: here },
  { document: 'services/gateway/access.md', has: 'new EventSource', check: here },
  {
    document: 'services/gateway/operating.md',
    has: '"not ready"',
    check: {
      parses: 'a response; services/gateway/test/integration/redis-refuses.test.ts makes Redis refuse writes',
    },
  },
  {
    document: 'services/gateway/operating.md',
    has: 'docker compose build',
    check: { parses: 'it needs Docker' },
  },
  { document: 'services/gateway/upstreams.md', has: 'api.githubcopilot.com', check: here },
  { document: 'services/gateway/upstreams.md', has: '/opt/servers/node_modules', check: here },
  { document: 'services/local/README.md', has: 'redis-cli CONFIG', check: here },
  {
    document: 'services/local/README.md',
    has: 'redis-cli() {',
    check: {
      parses:
        'it needs Docker; services/local/test/compose/compose.test.ts runs commands as the user operator',
    },
  },
  { document: 'services/worker/README.md', has: 'sequenceDiagram', check: picture },
  { document: 'libs/dispatch/README.md', has: '1 append', check: picture },
  { document: 'libs/plugin-kit/README.md', has: 'weather__forecast', check: here },
  { document: 'libs/plugins/README.md', has: 'name: release-notes', check: here },
  { document: 'libs/plugins/README.md', has: 'bus=http://', check: here },
  { document: 'libs/plugins/README.md', has: 'onCommand', check: before },
  { document: 'libs/plugins/README.md', has: "argumentHint: '<city>'", check: here },
  { document: 'libs/plugins/README.md', has: '```delegate', check: before },
  { document: 'libs/plugins/README.md', has: '/api/prewarm', check: here },
  { document: 'libs/plugins/README.md', has: '"ack_task"', check: before },
  { document: 'libs/plugins/README.md', has: 'createSdkMcpServer', check: before },
  {
    document: 'libs/plugins/README.md',
    has: "type: 'http', url: 'http://gateway:8080/mcp'",
    check: { parses: 'what the worker does; services/worker/src/session/mcp-endpoint.ts' },
  },
  { document: 'libs/plugins/README.md', has: 'bypassPermissions', check: before },
  { document: 'libs/plugins/README.md', has: 'queue.add', check: before },
  { document: 'libs/plugins/README.md', has: 'order-17', check: here },
  { document: 'libs/workspaces/README.md', has: 'openFileStore', check: here },
  {
    document: 'libs/workspaces/README.md',
    has: '"sha256":"…"',
    check: { parses: 'one entry of a manifest' },
  },
];
