import { ConfigError } from './config.ts';

/** A requested address, each part with the variable that set it. */
export interface WantedAddress {
  host: [variable: string, value: string];
  port: [variable: string, value: number];
}

/**
 * The error to throw when a server cannot listen: a ConfigError that names the variable to change, or the
 * error itself when no setting is the cause.
 */
export function listenErrorOf(error: unknown, { host, port }: WantedAddress): unknown {
  const explanations: Record<string, string> = {
    EADDRINUSE: `${port[0]}: port ${port[1]} on ${host[1]} is already in use; choose another port.`,
    EACCES: `${port[0]}: port ${port[1]} needs a privileged user; choose a port above 1023.`,
    EADDRNOTAVAIL: `${host[0]}: ${host[1]} is not an address of this machine; choose one that is, or 0.0.0.0.`,
    ENOTFOUND: `${host[0]}: ${host[1]} cannot be resolved; check the host name.`,
  };
  const explanation = explanations[(error as NodeJS.ErrnoException).code ?? ''];
  return explanation === undefined ? error : new ConfigError(explanation, { cause: error });
}
