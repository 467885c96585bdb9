/** Writes the API reference from the packages' TSDoc: one page a package, as Markdown, into a folder that git ignores. */
import { Application, ConsoleLogger, LogLevel } from "typedoc";
import { apiFolder, packages, root } from "./pages.mjs";

/** Prints warnings and counts them, but for links to what a package keeps to itself: those become plain words. */
class Warnings extends ConsoleLogger {
  log(message, level) {
    if (level === LogLevel.Warn && message.includes("resolved but is not included in the documentation")) return;
    super.log(message, level);
  }
}

/**
 * @throws Error when the TSDoc is faulty: a link to nothing, a parameter that does not exist
 */
export async function writeApi() {
  const app = await Application.bootstrapWithPlugins({
    plugin: ["typedoc-plugin-markdown"],
    name: "API reference",
    entryPoints: packages.map((name) => `${root}packages/${name}/src/index.ts`),
    tsconfig: `${root}docs/site/tsconfig.json`,
    // `pnpm typecheck` checks types; here only their text is read.
    skipErrorChecking: true,
    readme: "none",
    router: "module",
    excludePrivate: true,
    excludeInternal: true,
    excludeExternals: true,
    disableSources: true,
    disableGit: true,
    githubPages: false,
    hideBreadcrumbs: true,
    hidePageHeader: true,
    hideGroupHeadings: false,
    useCodeBlocks: true,
    parametersFormat: "table",
    interfacePropertiesFormat: "table",
    classPropertiesFormat: "table",
    typeDeclarationFormat: "table",
    sanitizeComments: true,
    sort: ["source-order"],
    kindSortOrder: ["Function", "Class", "Interface", "TypeAlias", "Variable"],
    validation: { notExported: false, invalidLink: true, notDocumented: false },
    treatWarningsAsErrors: true,
    logLevel: "Warn",
  });
  app.logger = new Warnings();
  app.logger.level = LogLevel.Warn;
  const project = await app.convert();
  if (project === undefined || app.logger.hasErrors()) throw new Error("The API reference could not be read from the sources.");
  for (const module of project.children ?? []) {
    module.name = module.name.replace(/\/src.*$/, "");
  }
  app.validate(project);
  await app.outputs.writeOutput({ name: "markdown", path: root + apiFolder }, project);
  if (app.logger.hasErrors() || app.logger.hasWarnings()) throw new Error("The packages' TSDoc has the faults named above.");
}
