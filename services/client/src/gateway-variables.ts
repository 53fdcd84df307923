import { z } from 'zod';

/** Variables with a client's gateway and API key. They are not options, because all users of a machine see arguments. */
export const gatewayVariables = {
  HARNESS_URL: z
    .url({ protocol: /^https?$/, error: 'must be the http(s) address of a gateway' })
    .default('http://127.0.0.1:8080')
    .transform((url) => url.replace(/\/+$/, '')),
  HARNESS_API_KEY: z.string().optional(),
};
