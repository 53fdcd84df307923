import { ConfigError } from './config.ts';

/** An address that was asked for, each part with the variable that set it. */
export interface WantedAddress {
  host: [variable: string, value: string];
  port: [variable: string, value: number];
}

/**
 * What to throw when a server cannot listen: a ConfigError that names the variable to change, or the error as it is where
 * no setting is to blame.
 */
export function listenErrorOf(error: unknown, { host, port }: WantedAddress): unknown {
  const explanations: Record<string, string> = {
    EADDRINUSE: `${port[0]}: port ${port[1]} on ${host[1]} is taken; choose another.`,
    EACCES: `${port[0]}: port ${port[1]} is not for ordinary users; choose one above 1023.`,
    EADDRNOTAVAIL: `${host[0]}: ${host[1]} is not an address of this machine.`,
    ENOTFOUND: `${host[0]}: ${host[1]} is not known.`,
  };
  const explanation = explanations[(error as NodeJS.ErrnoException).code ?? ''];
  return explanation === undefined ? error : new ConfigError(explanation, { cause: error });
}
