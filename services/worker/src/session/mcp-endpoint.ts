/** The tool server of a session. */
export interface McpEndpoint {
  url: string;
  token: string;
}
