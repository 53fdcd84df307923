/** Name and version of this MCP server. */
export const serverInfo = { name: 'harness', version: '0.1.0' };

/** Server capabilities, the same in every era. */
export const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  logging: {},
  completions: {},
};

/** Name of the tasks extension among the capabilities. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';
