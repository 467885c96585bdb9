/** What stands for a credential whose name is not known. */
const mask = "[secret]";

/** A credential that can be told by its form, and what is left of the text around it. */
interface CredentialPattern {
  /** A word that the text has to hold for the pattern to be tried, in lower case; it makes the common case cheap. */
  readonly hint: string;
  readonly pattern: RegExp;
  readonly replacement: string;
}

/** No pattern fits less. */
const shortest = 6;

const names = "(?:passw(?:or)?d|secret|api[-_]?key|access[-_]?key|access[-_]?token|auth[-_]?token|refresh[-_]?token|client[-_]?secret|private[-_]?key|signature)";

// A run of characters has one start, or a bounded length, so that no text, however it was made, takes longer than its length allows.
const patterns: readonly CredentialPattern[] = [
  { hint: "private key", pattern: /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)/g, replacement: mask },
  { hint: "authorization", pattern: /(authorization["']?\s*[:=]\s*["']?)(?:(?:bearer|basic|token|digest)\s+)?(?!\[secret)[^\s"',;]+/gi, replacement: `$1${mask}` },
  { hint: "bearer", pattern: /\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}/gi, replacement: `$1${mask}` },
  { hint: "://", pattern: /([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#@"'<>[\]]+@/gi, replacement: `$1${mask}@` },
  { hint: "=", pattern: new RegExp(`([?&](?:token|key|sig|x-amz-security-token|x-amz-signature|x-goog-signature|upload_id|${names})=)[^&\\s"'<>#]+`, "gi"), replacement: `$1${mask}` },
  { hint: "=", pattern: /\b([A-Z][A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)=)(?!\[secret)(?:"[^"]*"|'[^']*'|[^\s"']+)/g, replacement: `$1${mask}` },
  { hint: "--", pattern: new RegExp(`((?<![-a-z])--(?:[a-z-]{0,40}-)?(?:token|${names})(?:=|\\s+))(?![-[])(?:"[^"]*"|'[^']*'|[^\\s"']+)`, "gi"), replacement: `$1${mask}` },
  { hint: "eyj", pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, replacement: mask },
  { hint: "sk-", pattern: /\bsk-[A-Za-z0-9_-]{16,}/g, replacement: mask },
  { hint: "hf_", pattern: /\bhf_[A-Za-z0-9]{16,}/g, replacement: mask },
  { hint: "gh", pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})/g, replacement: mask },
  { hint: "aiza", pattern: /\bAIza[A-Za-z0-9_-]{35}/g, replacement: mask },
  { hint: "ya29.", pattern: /\bya29\.[A-Za-z0-9._-]{8,}/g, replacement: mask },
  { hint: "xox", pattern: /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g, replacement: mask },
  { hint: "marin_", pattern: /\bmarin_[A-Za-z0-9]{12}_[A-Za-z0-9_-]{43}/g, replacement: mask },
];

/** Text without what looks like a credential: passwords in URLs, Authorization, signed URLs, `HF_TOKEN=`, `--api-key`, private keys, well-known tokens. */
export function maskCredentialForms(text: string): string {
  if (text.length < shortest) return text;
  const lower = text.toLowerCase();
  let masked = text;
  for (const { hint, pattern, replacement } of patterns) {
    if (lower.includes(hint)) masked = masked.replace(pattern, replacement);
  }
  return masked;
}

/** Whether the text as a whole is a credential by its form. */
export function looksLikeCredential(text: string): boolean {
  return maskCredentialForms(text.trim()) === mask;
}

const secretName = /(?:^|[_.-])(?:token|secret|passw(?:or)?d|passphrase|api_?key|access_?key|private_?key|secret_?key|credentials?|authorization|cookie)$/;

/** Whether a variable, header or field of that name usually holds a secret: "HF_TOKEN", "apiKey", "authorization". */
export function namesSecret(name: string): boolean {
  return secretName.test(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase());
}
