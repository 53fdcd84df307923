/**
 * The forms of secrets that can be recognized without knowing their values. Matching takes time linear in the text: what
 * may repeat without a limit begins at a word boundary or a fixed text, so that no character is read twice.
 */

/** Formats that their issuers made recognizable; `\w` covers letters, digits and `_`. */
const formats = [
  'hk_[\\w-]{16,}', // API keys and stream tickets of this gateway
  'hst_[\\w-]{16,}',
  'eyJ[\\w-]{6,}\\.[\\w-]{6,}\\.[\\w-]*', // JWTs: thread tokens, access tokens, ID tokens
  'sk-[\\w-]{20,}', // OpenAI and others
  '(?:sk|rk|pk)_(?:live|test)_\\w{10,}', // Stripe
  'whsec_[\\w+/=-]{16,}',
  '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}', // AWS
  'ABSK[\\w+/=-]{40,}',
  'AIza[\\w-]{35}', // Google
  'ya29\\.[\\w-]{20,}',
  'GOCSPX-[\\w-]{20,}',
  'gh[pousr]_\\w{20,}', // GitHub
  'github_pat_\\w{20,}',
  'glpat-[\\w-]{16,}', // GitLab
  'xox[abceoprs]-[\\w-]{10,}', // Slack
  'xapp-[\\w-]{10,}',
  'npm_\\w{30,}',
  'pypi-[\\w-]{40,}',
  'hf_\\w{20,}', // Hugging Face
  'SG\\.[\\w-]{16,}\\.[\\w-]{16,}', // SendGrid
  'hv[sb]\\.[\\w-]{20,}', // Vault
].join('|');

/** A private key in PEM, to its end or, if it was cut, to the end of the text. */
const pem =
  '-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-"]*(?:-{1,4}[^-"]+)*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?';

/** The start of a word, also after an escape in a URL such as `%20`. */
const wordStart = '(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))';
/** Recognized within a word, too. */
const anthropic = 'sk-ant-[\\w-]{8,}';

/** Matches secrets by their format: the whole match is the secret. */
export const formatPattern = `${anthropic}|${wordStart}(?:${formats})|${pem}`;

/** Names of fields whose value is a secret, whatever it looks like. */
export const secretName = [
  'pass(?:word|wd|phrase)',
  'secret(?:[-_]?access[-_]?key)?',
  '(?:x[-_])?(?:goog[-_])?api[-_]?key',
  'client[-_]?secret',
  '(?:(?:access|auth|refresh|id|session)[-_]?|(?<![A-Za-z0-9]))token',
  'private[-_]?key',
  '(?:proxy[-_])?authorization',
  '(?:set[-_])?cookie',
].join('|');

const scheme = '(?:bearer|basic|digest|negotiate|token)';

/**
 * Matches secrets by what stands before them, which the first group keeps: `password=…`, `"apiKey": "…"`, credential
 * headers, user and password in URLs. Ignores case.
 */
export const contextPattern = [
  // The separator comes first and what is before it is looked up from there: few positions have one.
  `(=)(?<=(?:${secretName}|[?&](?:ticket|sig|signature))=)[^\\s"'&,;\\\\]{4,}`,
  `(["'](?<=(?:${secretName})\\\\?["'])\\s*[:=]\\s*\\\\?["'])[^"'\\\\]+`,
  `(:(?<=(?:authorization|api-key|cookie):)[ \\t]*(?:${scheme}[ \\t]+)?)(?!${scheme}\\b)[^\\s"'<>\\\\]{4,}`,
  '(:\\/\\/)[^\\s/?#@"\'<>\\\\]{1,256}(?=@)',
  // A digit distinguishes a token from a word, as in "bearer authentication".
  '(\\bbearer\\s+)(?=[A-Za-z._~+/=-]*\\d)[\\w.~+/=-]{8,}',
  '(\\bbasic\\s+)(?=[A-Za-z+/]*[\\d=])[A-Za-z0-9+/]{8,}={0,2}',
].join('|');
