/** The steps of the demo, recognized in events. */
import type { ThreadEvent } from '@harness/contracts';

interface Step {
  /** Its name in the list of missing steps. */
  name: string;
  fits(event: ThreadEvent, context: Context): boolean;
  describe(event: ThreadEvent): string;
  /** Later steps do not wait for it. */
  isAsync?: true;
}

interface Context {
  parent: string;
  /** Run ids by kind. */
  kinds: Map<string, string>;
}

const inParent = (event: ThreadEvent, { parent }: Context) => event.data.threadId === parent;
const first = (text: unknown) => String(text).split('\n')[0];

/** The main use case. Each step must be seen after the previous one that is not asynchronous. */
const steps: Step[] = [
  {
    name: 'the parent’s run starts',
    fits: (event, context) => event.type === 'run.started' && inParent(event, context),
    describe: () => 'A worker takes the message and starts a Claude Agent SDK session.',
  },
  {
    name: 'the agent calls delegate',
    fits: (event, context) =>
      event.type === 'agent.tool_use' &&
      event.data.name === 'delegation__delegate' &&
      inParent(event, context),
    describe: () => 'The agent calls delegation__delegate over MCP.',
  },
  {
    name: 'a child thread is created',
    fits: (event, context) => event.type === 'thread.created' && !inParent(event, context),
    describe: (event) => `A thread for the sub-agent exists: ${event.data.threadId}.`,
  },
  {
    name: 'a task is created',
    fits: (event) => event.type === 'task.created',
    describe: (event) => `Task ${event.data.taskId} is stored and queued.`,
  },
  {
    name: 'the sub-agent checks in',
    isAsync: true, // its mail to the parent goes through a queue, which the next tool call may overtake
    fits: (event, context) => event.type === 'task.checkin' && inParent(event, context),
    describe: (event) => `The sub-agent checks in with its parent: “${event.data.message}”.`,
  },
  {
    name: 'the sub-agent calls current_time',
    fits: (event, context) =>
      event.type === 'agent.tool_use' &&
      event.data.name === 'time__current_time' &&
      !inParent(event, context),
    describe: () => 'The sub-agent asks for the time…',
  },
  {
    name: 'current_time returns',
    fits: (event, context) =>
      event.type === 'agent.tool_result' && event.data.isError === false && !inParent(event, context),
    describe: (event) => `…and gets: ${first(event.data.text)}.`,
  },
  {
    name: 'a review starts',
    fits: (event) => event.type === 'task.review_started',
    describe: () => 'Its result goes to a reviewer.',
  },
  {
    name: 'the review rejects',
    fits: (event) => event.type === 'task.review_ended' && event.data.verdict === 'needs_revision',
    describe: (event) => `The reviewer does not accept it: “${event.data.feedback}”`,
  },
  {
    name: 'the second review accepts',
    fits: (event) => event.type === 'task.review_ended' && event.data.verdict === 'satisfied',
    describe: (event) => `The sub-agent tries again; the reviewer accepts iteration ${event.data.iteration}.`,
  },
  {
    name: 'the task completes',
    fits: (event, context) => event.type === 'task.completed' && inParent(event, context),
    describe: () => 'The task is complete, and its parent gets a message.',
  },
  {
    name: 'the parent responds to the notification',
    fits: (event, context) =>
      event.type === 'run.completed' && context.kinds.get(String(event.data.runId)) === 'notification',
    describe: (event) => `The parent’s agent reads it and answers: “${first(event.data.result)}”`,
  },
];

/** Recognizes the steps in the events of the parent's thread tree. */
export function createStory(parent: string) {
  const context: Context = { parent, kinds: new Map() };
  const startedAt = performance.now();
  const seen = new Set<Step>();
  /** The unseen steps up to the first that the others wait for. */
  const expected = () => {
    const unseen = steps.filter((step) => !seen.has(step));
    const last = unseen.findIndex(({ isAsync }) => !isAsync);
    return last === -1 ? unseen : unseen.slice(0, last + 1);
  };
  let taskId = '';
  return {
    /** Returns a line to print if the event is the next step. */
    see(event: ThreadEvent): string | undefined {
      if (event.type === 'run.queued') context.kinds.set(String(event.data.runId), String(event.data.kind));
      if (event.type === 'task.created') taskId = String(event.data.taskId);
      const step = expected().find(({ fits }) => fits(event, context));
      if (!step) return undefined;
      seen.add(step);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(2).padStart(6);
      return `${seconds} s  ${step.describe(event)}`;
    },
    missing: () => steps.filter((step) => !seen.has(step)).map((step) => step.name),
    taskId: () => taskId,
  };
}
