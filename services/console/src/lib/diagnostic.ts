/** Why a plugin, a skill, an agent or an upstream did not load, or what is wrong with it. */
export interface Diagnostic {
  /** The file or module. */
  source: string;
  /** error: it did not load. */
  level: 'error' | 'warning';
  message: string;
}
