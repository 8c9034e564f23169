/** Completion scripts, generated from the flags and operands of commands. Pure. */

export interface Completable {
  name: string;
  summary: string;
  /** The kind of its operands, or the words to choose from. */
  takes: "apps" | "files" | string[];
  flags: { flag: string; short?: string; help: string; hasValue: boolean }[];
}

/** Lists apps as users type them, without the default namespace. */
const listApps = "nckubelet ps -o name 2>/dev/null | sed 's|^default/||'";

/** For bash, with or without the bash-completion package. */
export function bashCompletion(commands: Completable[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  const flags = commands.map(({ name, flags }) =>
    `    ${name}) flags="${flags.map(({ flag }) => `--${flag}`).join(" ")}" ;;`
  );
  const operands = commands.map(({ name, takes }) => {
    const words = takes === "apps" ? `$(${listApps})` : takes === "files" ? "" : takes.join(" ");
    return takes === "files" ? [] : [`    ${name}) COMPREPLY=($(compgen -W "${words}" -- "$word")) ;;`];
  }).flat();
  return `# bash completion for nckubelet
_nckubelet() {
  local word=\${COMP_WORDS[COMP_CWORD]} flags=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${names}" -- "$word"))
    return
  fi
  case \${COMP_WORDS[1]} in
${flags.join("\n")}
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$flags --help" -- "$word")); return ;;
  esac
  case \${COMP_WORDS[1]} in
${operands.join("\n")}
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _nckubelet nckubelet
`;
}

/** For zsh, as an autoloaded function. */
export function zshCompletion(commands: Completable[]): string {
  const rows = commands.map(({ name, summary }) => `    ${quote(`${name}:${summary}`)}`);
  const cases = commands.map(({ name, flags, takes }) => {
    const specs = flags.map(({ flag, help, hasValue }) =>
      quote(
        `--${flag}${hasValue ? "=" : ""}[${help.replace(/[[\]:]/g, "")}]${hasValue ? ":value:_files" : ""}`,
      )
    );
    return `    ${name}) _arguments ${[...specs, quote(zshOperands(takes))].join(" ")} ;;`;
  });
  return `#compdef nckubelet
_nckubelet_apps() {
  local -a apps
  apps=(\${(f)"$(${listApps})"})
  compadd -a apps
}
_nckubelet() {
  local -a commands
  commands=(
${rows.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join("\n")}
  esac
}
if [ "$funcstack[1]" = _nckubelet ]; then
  _nckubelet "$@"
else
  compdef _nckubelet nckubelet
fi
`;
}

function zshOperands(takes: Completable["takes"]): string {
  if (takes === "apps") return "*:app:_nckubelet_apps";
  return takes === "files" ? "*:file:_files" : `1:word:(${takes.join(" ")})`;
}

export function fishCompletion(commands: Completable[]): string {
  const lines = commands.flatMap(({ name, summary, flags, takes }) => {
    const when = quote(`__fish_seen_subcommand_from ${name}`);
    return [
      `complete -c nckubelet -n __fish_use_subcommand -f -a ${name} -d ${quote(summary)}`,
      ...flags.map(({ flag, short, help, hasValue }) =>
        `complete -c nckubelet -n ${when} -l ${flag}${short ? ` -s ${short}` : ""}${
          hasValue ? " -r" : ""
        } -d ${quote(help)}`
      ),
      ...(takes === "files" ? [] : [
        `complete -c nckubelet -n ${when} -f -a ${
          quote(takes === "apps" ? `(${listApps})` : takes.join(" "))
        }`,
      ]),
    ];
  });
  return `# fish completion for nckubelet\n${lines.join("\n")}\n`;
}

/** Quotes text for sh and zsh, and for fish unless it has a backslash. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
