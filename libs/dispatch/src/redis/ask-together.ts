/**
 * Batches questions that arrive within one turn of the event loop into a single request to Redis, so that
 * under load one question costs a fraction of a command. Resolves each question with its own result; rejects
 * all of a batch with the error of `ask`. `most`: largest number of questions in one `ask`.
 */
export function askTogether<Question, Answer>(
  ask: (questions: Question[]) => Promise<readonly Answer[]>,
  most = 100,
): (question: Question) => Promise<Answer> {
  let waiting: { question: Question; resolve(answer: Answer): void; reject(error: unknown): void }[] = [];

  const askAll = () => {
    const asked = waiting;
    waiting = [];
    ask(asked.map(({ question }) => question)).then(
      (answers) => {
        for (const [index, { resolve }] of asked.entries()) resolve(answers[index] as Answer);
      },
      (error) => {
        for (const { reject } of asked) reject(error);
      },
    );
  };

  return (question) =>
    new Promise((resolve, reject) => {
      const count = waiting.push({ question, resolve, reject });
      if (count === 1) setImmediate(() => waiting.length > 0 && askAll());
      else if (count >= most) askAll();
    });
}
