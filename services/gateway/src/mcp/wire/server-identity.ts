export const serverInfo = { name: 'harness', version: '0.1.0' };

/** The same in every era. */
export const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  logging: {},
  completions: {},
};

export const tasksExtension = 'io.modelcontextprotocol/tasks';
