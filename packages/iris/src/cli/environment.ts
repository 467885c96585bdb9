/** What the command needs of the process. */
export interface CliEnvironment {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  /** Where the user is: relative paths start here. */
  readonly workingDirectory: string;
  /** The environment variables. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Whether standard output is a terminal that can be drawn on. */
  readonly interactive: boolean;
  /** Calls back at each interruption (Ctrl-C, TERM), until the returned function is called. Without a listener an interruption ends the process. */
  onInterrupt(listener: () => void): () => void;
}
