/** Completion scripts, from what the commands say about themselves. Pure. */

export interface Completable {
  name: string;
  summary: string;
  /** What its operands are. */
  takes: "apps" | "files" | "nothing";
  flags: { flag: string; short?: string; help: string; hasValue: boolean }[];
}

/** Apps of the default namespace without it, as people type them. */
const listApps = "nckubelet ps -o name 2>/dev/null | sed 's|^default/||'";

/** For bash, with or without the bash-completion package. */
export function bashCompletion(commands: Completable[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  const flags = commands.map(({ name, flags }) =>
    `    ${name}) flags="${flags.map(({ flag }) => `--${flag}`).join(" ")}" ;;`
  );
  const withApps = namesThatTake(commands, "apps");
  return `# bash completion for nckubelet
_nckubelet() {
  local word=\${COMP_WORDS[COMP_CWORD]} flags=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "help ${names}" -- "$word"))
    return
  fi
  case \${COMP_WORDS[1]} in
    help) COMPREPLY=($(compgen -W "${names}" -- "$word")); return ;;
${flags.join("\n")}
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$flags --help" -- "$word")); return ;;
  esac
  case \${COMP_WORDS[1]} in
    ${withApps.join("|")}) COMPREPLY=($(compgen -W "$(${listApps})" -- "$word")) ;;
    completion) COMPREPLY=($(compgen -W "bash zsh fish" -- "$word")) ;;
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
    const operands = { apps: "*:app:_nckubelet_apps", files: "*:file:_files", nothing: "" }[takes];
    return `    ${name}) _arguments ${[...specs, ...(operands ? [quote(operands)] : [])].join(" ")} ;;`;
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

/** For fish. */
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
      ...(takes === "apps" ? [`complete -c nckubelet -n ${when} -f -a ${quote(`(${listApps})`)}`] : []),
    ];
  });
  return `# fish completion for nckubelet\n${lines.join("\n")}\n`;
}

function namesThatTake(commands: Completable[], what: Completable["takes"]): string[] {
  return commands.filter(({ takes }) => takes === what).map(({ name }) => name);
}

/** Quoted for sh and zsh, and, as long as it holds no backslash, for fish. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
