/**
 * The peer of the session figures: the bare Agent SDK with the same options, model, prompt and MCP server.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { query, type SDKUserMessage } from '@anthropic-ai/claude-agent-sdk';
import { searchPath } from '../config.ts';

/** Times of one turn, ms after its start. */
export interface BareTurn {
  firstMs: number;
  resultMs: number;
}

/** Measures a cold turn and then a warm one in the same process. `mcpUrl`: a gateway that needs no key. */
export async function measureBareSdk(
  { modelUrl, mcpUrl }: { modelUrl: string; mcpUrl: string },
  prompt: string,
): Promise<{ cold: BareTurn; warm: BareTurn }> {
  const home = await mkdtemp(join(tmpdir(), 'harness-bare-'));
  const prompts = createPrompts(prompt);
  let sentAt = performance.now();
  const conversation = query({
    prompt: prompts.stream(),
    options: {
      cwd: home,
      systemPrompt: 'You are an agent.',
      tools: [],
      settingSources: [],
      strictMcpConfig: true,
      mcpServers: { harness: { type: 'http', url: mcpUrl, alwaysLoad: true } },
      allowedTools: ['mcp__harness__*'],
      verbatimPrompts: true,
      permissionMode: 'dontAsk',
      includePartialMessages: true,
      env: {
        PATH: searchPath,
        HOME: home,
        CLAUDE_CONFIG_DIR: join(home, '.claude'),
        ANTHROPIC_BASE_URL: modelUrl,
        ANTHROPIC_API_KEY: 'none',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      },
    },
  });
  const turns: BareTurn[] = [];
  let firstMs = Number.NaN;
  prompts.next();
  for await (const message of conversation) {
    if (message.type === 'stream_event' && Number.isNaN(firstMs)) firstMs = performance.now() - sentAt;
    if (message.type !== 'result') continue;
    turns.push({ firstMs, resultMs: performance.now() - sentAt });
    if (turns.length === 2) break;
    firstMs = Number.NaN;
    sentAt = performance.now();
    prompts.next();
  }
  conversation.close();
  await rm(home, { recursive: true, force: true });
  const [cold, warm] = turns as [BareTurn, BareTurn];
  return { cold, warm };
}

function createPrompts(text: string) {
  let give: () => void = () => undefined;
  let given = 0;
  let wanted = 0;
  return {
    next() {
      given++;
      give();
    },
    async *stream(): AsyncGenerator<SDKUserMessage> {
      for (;;) {
        wanted++;
        if (given < wanted) await new Promise<void>((resolve) => (give = resolve));
        yield { type: 'user', parent_tool_use_id: null, message: { role: 'user', content: text } };
      }
    },
  };
}
