/**
 * Batches questions to Redis into single requests: those of one turn of the event loop, and those that arrive while another
 * request is under way. Under load one question then costs a fraction of a command; alone, it waits for nothing.
 * `most`: largest number of questions in one request; a full batch does not wait for the request under way. Each question
 * resolves with its own result; all of a batch reject with the error of `ask`.
 */
export function askTogether<Question, Answer>(
  ask: (questions: Question[]) => Promise<readonly Answer[]>,
  most = 100,
): (question: Question) => Promise<Answer> {
  let waiting: { question: Question; resolve(answer: Answer): void; reject(error: unknown): void }[] = [];
  let underWay = 0;
  let isScheduled = false;

  const askAll = async () => {
    const asked = waiting;
    waiting = [];
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
    if (isScheduled || waiting.length === 0) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      if (waiting.length > 0 && underWay === 0) void askAll();
    });
  };

  return (question) =>
    new Promise((resolve, reject) => {
      const count = waiting.push({ question, resolve, reject });
      if (count >= most) void askAll();
      else if (underWay === 0) schedule();
    });
}
