/** The response of `POST …/commands`. */
export interface CommandAnswer {
  output: string;
  isError: boolean;
  action?: 'quit' | 'clear';
  runId?: string;
}
