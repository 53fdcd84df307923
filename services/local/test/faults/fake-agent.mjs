#!/usr/bin/env node
/**
 * A substitute for the Agent SDK's executable: it uses the same protocol on standard input and output (a JSON object a
 * line), calls tools over MCP like the real one, and starts in some 50 ms. In place of a model it plays the message:
 *
 *   say: TEXT            answers with the text              sleep: MS
 *   call: TOOL {json}    calls the tool; `$agent` and `$epoch` in the arguments become this process and its token's epoch
 *   die: SIGKILL|exit0|oom      kill-worker:                ends itself, or the worker that started it
 *   flood: BYTES         so much text in small deltas       noise: BYTES    so much that is no JSON
 *   deaf:                never reads again                  ignore-sigterm:
 *   once NAME LINE       the line, only the first time in this fleet that NAME is seen
 *
 * The answer is the text said last, or `N calls failed` when tools could not be reached.
 * ANTHROPIC_FAKE_STATE (the prefix reaches sessions) is a folder that outlives processes: what `once` has seen, and
 * `deaf-from-start`, a file that the first process to see it removes; that one answers nothing at all.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const state = process.env.ANTHROPIC_FAKE_STATE ?? '.';
const agent = `${process.pid}.${Math.round(performance.timeOrigin)}`;
const sessionId = argumentOf('--session-id') ?? argumentOf('--resume') ?? randomUUID();
const model = 'fake-agent';

let servers = {};
let calls = 0;
let turn; // {stop, uuids} while a turn runs
const waiting = [];

if (claimFile('deaf-from-start')) setInterval(() => undefined, 60_000);
else {
  createInterface({ input: process.stdin })
    .on('line', take)
    .on('close', () => process.exit(0));
}

function take(line) {
  const message = JSON.parse(line);
  if (message.type === 'control_request') answerControl(message);
  else if (message.type === 'user') {
    waiting.push(message);
    if (!turn) void playAll();
  }
}

function answerControl({ request_id, request }) {
  const succeed = (response) =>
    write({ type: 'control_response', response: { subtype: 'success', request_id, response } });
  switch (request.subtype) {
    case 'initialize':
      servers = request.mcpServers ?? {};
      return succeed({
        commands: [],
        models: [],
        agents: [],
        account: {},
        output_style: 'default',
        mcp_servers_applied: true,
        settings_applied: true,
        managed_settings_applied: true,
        disallowed_tools_applied: true,
        plugins_applied: true,
        hooks_applied: true,
      });
    case 'mcp_status':
      return succeed({ mcpServers: Object.keys(servers).map((name) => ({ name, status: 'connected' })) });
    case 'mcp_set_servers': {
      const added = Object.keys(request.servers);
      servers = request.servers;
      return succeed({ added, removed: [], errors: {} });
    }
    case 'interrupt':
      turn?.stop.abort();
      return succeed({});
    default:
      return succeed({});
  }
}

async function playAll() {
  for (let message = waiting.shift(); message; message = waiting.shift()) {
    turn = { stop: new AbortController(), uuid: message.uuid };
    write({ type: 'system', subtype: 'init', session_id: sessionId, uuid: randomUUID(), tools: [], model });
    const text = await play(textOf(message.message.content), turn.stop.signal);
    end(text, turn);
    turn = undefined;
  }
}

function end(text, { stop, uuid }) {
  const interrupted = stop.signal.aborted;
  write({
    type: 'result',
    subtype: interrupted ? 'error_during_execution' : 'success',
    is_error: interrupted,
    ...(interrupted ? { errors: ['interrupted'] } : { result: text }),
    session_id: sessionId,
    uuid: randomUUID(),
    user_message_uuids: [uuid],
    num_turns: 1,
    duration_ms: 1,
    duration_api_ms: 1,
    total_cost_usd: 0,
    usage: { input_tokens: 1, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
    modelUsage: {},
    permission_denials: [],
  });
}

/** Plays the script and returns the text of its last `say`. Ends early when the turn is interrupted. */
async function play(script, signal) {
  let answer = '';
  let failed = 0;
  for (const line of script.split('\n').map((one) => one.trim())) {
    if (signal.aborted) break;
    const [, name, rest = line] = /^once (\S+) (.+)$/.exec(line) ?? [];
    if (name !== undefined && !claimOnce(name)) continue;
    const [, keyword, argument = ''] = /^([a-z-]+):\s*(.*)$/.exec(rest) ?? [];
    if (keyword === 'say') answer = say(argument);
    else if (keyword === 'call') failed += (await call(argument)) ? 0 : 1;
    else if (keyword === 'sleep') await sleep(Number(argument), signal);
    else if (keyword) await misbehave(keyword, argument);
  }
  return failed ? `${failed} calls failed` : answer;
}

function say(text) {
  delta(text);
  assistant([{ type: 'text', text }]);
  return text;
}

const delta = (text) =>
  write({
    type: 'stream_event',
    event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    session_id: sessionId,
    uuid: randomUUID(),
    parent_tool_use_id: null,
  });

const assistant = (content) =>
  write({
    type: 'assistant',
    message: { id: `msg_${randomUUID()}`, type: 'message', role: 'assistant', model, content },
    session_id: sessionId,
    uuid: randomUUID(),
    parent_tool_use_id: null,
  });

async function misbehave(keyword, argument) {
  switch (keyword) {
    case 'die':
      if (argument === 'exit0') process.exit(0);
      if (argument === 'oom') process.abort(); // as V8 does without memory
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => undefined);
    case 'kill-worker':
      process.kill(process.ppid, 'SIGKILL');
      return new Promise(() => undefined);
    case 'flood':
      for (let left = Number(argument); left > 0; left -= 1000) delta('x'.repeat(1000));
      return;
    case 'noise':
      for (let left = Number(argument); left > 0; left -= 1000) process.stdout.write(`${'x'.repeat(999)}\n`);
      return;
    case 'deaf':
      process.stdin.pause();
      return new Promise(() => undefined);
    case 'ignore-sigterm':
      process.on('SIGTERM', () => undefined);
  }
}

/** One tools/call of the stateless 2025 era. False when no answer came; a tool's own failure is an answer. */
async function call(argument) {
  const [, tool, json = '{}'] = /^(\S+)(?:\s+(.+))?$/.exec(argument) ?? [];
  const [server] = Object.values(servers);
  const input = JSON.parse(
    json.replaceAll('"$agent"', JSON.stringify(agent)).replaceAll('"$epoch"', epochOf(server)),
  );
  const id = `toolu_${agent}_${++calls}`;
  assistant([{ type: 'tool_use', id, name: `mcp__harness__${tool}`, input }]);
  const answer = await post(server, {
    jsonrpc: '2.0',
    id: calls,
    method: 'tools/call',
    params: { name: tool, arguments: input, _meta: { 'claudecode/toolUseId': id } },
  }).catch((error) => ({ error: { message: error.message } }));
  const content = answer.result?.content ?? answer.error.message;
  const is_error = answer.result === undefined || answer.result.isError === true;
  write({
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content, is_error }] },
    session_id: sessionId,
    uuid: randomUUID(),
    parent_tool_use_id: null,
  });
  return answer.result !== undefined;
}

function post({ url, headers }, body) {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      url,
      {
        method: 'POST',
        agent: false,
        headers: {
          ...headers,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2025-06-18',
        },
      },
      async (response) => {
        try {
          let text = '';
          for await (const chunk of response.setEncoding('utf8')) text += chunk;
          if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${text}`);
          const data = /^data: (.+)$/m.exec(text)?.[1] ?? text;
          resolve(JSON.parse(data));
        } catch (error) {
          reject(error);
        }
      },
    );
    outgoing.on('error', reject);
    outgoing.end(JSON.stringify(body));
  });
}

/** The epoch in the thread token, unverified: as which owner this process acts. */
function epochOf(server) {
  const [, payload = ''] = (server?.headers?.Authorization ?? '').split('.');
  if (payload === '') return 'null';
  return String(JSON.parse(Buffer.from(payload, 'base64url').toString()).epoch);
}

function sleep(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function write(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function textOf(content) {
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('\n');
}

function argumentOf(flag) {
  const [, value] = process.argv.find((one) => one.startsWith(`${flag}=`))?.split('=') ?? [];
  const at = process.argv.indexOf(flag);
  return value ?? (at < 0 ? undefined : process.argv[at + 1]);
}

/** Whether this process is the first to ask. */
function claimOnce(name) {
  try {
    closeSync(openSync(join(state, `once-${name}`), 'wx'));
    return true;
  } catch {
    return false;
  }
}

/** Removes the file. Returns whether it existed. */
function claimFile(name) {
  try {
    rmSync(join(state, name));
    return true;
  } catch {
    return false;
  }
}
