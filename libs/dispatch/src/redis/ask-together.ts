/**
 * Batches questions to Redis into single requests: those of one turn of the event loop, and those that arrive while another
 * request is under way. Under load one question then costs a fraction of a command; alone, it waits for nothing. Equal
 * questions of a batch are asked once, and get the same answer object.
 * `keyOf`: equal for equal questions. `most`: largest number of questions in one request; a full batch does not wait for the
 * request under way. Each question resolves with its own result; all of a batch reject with the error of `ask`.
 */
export function askTogether<Question, Answer>(
  ask: (questions: Question[]) => Promise<readonly Answer[]>,
  { keyOf, most = 100 }: { keyOf: (question: Question) => string | number; most?: number },
): (question: Question) => Promise<Answer> {
  interface Asked {
    question: Question;
    answer: Promise<Answer>;
    resolve(answer: Answer): void;
    reject(error: unknown): void;
  }
  let waiting = new Map<string | number, Asked>();
  let underWay = 0;
  let isScheduled = false;

  const askAll = async () => {
    const asked = [...waiting.values()];
    waiting = new Map();
    underWay++;
    try {
      const answers = await ask(asked.map(({ question }) => question));
      for (const [index, { resolve }] of asked.entries()) resolve(answers[index] as Answer);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    } finally {
      underWay--;
      schedule();
    }
  };
  const schedule = () => {
    if (isScheduled || waiting.size === 0) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      if (waiting.size > 0 && underWay === 0) void askAll();
    });
  };

  return (question) => {
    const key = keyOf(question);
    const known = waiting.get(key);
    if (known) return known.answer;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    waiting.set(key, { question, answer: promise, resolve, reject });
    if (waiting.size >= most) void askAll();
    else if (underWay === 0) schedule();
    return promise;
  };
}
