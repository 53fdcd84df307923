import { z } from 'zod';

/** The environment by which a client finds its gateway, and what opens it. Arguments would be seen by all. */
export const gatewayVariables = {
  HARNESS_URL: z
    .url({ protocol: /^https?$/, error: 'must be the http(s) address of a gateway' })
    .default('http://127.0.0.1:8080')
    .transform((url) => url.replace(/\/+$/, '')),
  HARNESS_API_KEY: z.string().optional(),
};
