/** Completion scripts, generated from the flags and operands of commands. Pure. */

/** What a word may be: a file, an app of the node, one of these words, or anything. */
export type Choices = "files" | "apps" | "anything" | readonly string[];

export interface Completable {
  name: string;
  summary: string;
  /** What its operands may be. */
  takes: Choices;
  /** `value` is absent for a switch. */
  flags: { flag: string; short?: string; help: string; value?: Choices }[];
}

/** Lists apps as users type them, without the default namespace. */
const listApps = "nckubelet ps -o name 2>/dev/null | sed 's|^default/||'";

/** For bash, with or without the bash-completion package. */
export function bashCompletion(commands: Completable[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  const flags = commands.map(({ name, flags }) =>
    `    ${name}) flags="${flags.map(({ flag }) => `--${flag}`).join(" ")}" ;;`
  );
  const values = commands.flatMap(({ name, flags }) =>
    flags.flatMap(({ flag, short, value }) =>
      value
        ? [`    ${name}:--${flag}${short ? `|${name}:-${short}` : ""}) ${bashOffer(value)}; return ;;`]
        : []
    )
  );
  const operands = commands.map(({ name, takes }) => `    ${name}) ${bashOffer(takes)} ;;`);
  return `# bash completion for nckubelet
_nckubelet() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} flags=
  COMPREPLY=()
  # bash splits --flag=value into three words.
  if [ "$word" = = ]; then
    word=
  elif [ "$before" = = ]; then
    before=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${names}" -- "$word"))
    return
  fi
  case \${COMP_WORDS[1]}:$before in
${values.join("\n")}
  esac
  case \${COMP_WORDS[1]} in
${flags.join("\n")}
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$flags --help" -- "$word")); return ;;
  esac
  case \${COMP_WORDS[1]} in
${operands.join("\n")}
  esac
}
complete -o filenames -F _nckubelet nckubelet
`;
}

function bashOffer(choices: Choices): string {
  if (choices === "anything") return ":";
  if (choices === "files") return 'COMPREPLY=($(compgen -f -- "$word"))';
  const words = choices === "apps" ? `$(${listApps})` : choices.join(" ");
  return `COMPREPLY=($(compgen -W "${words}" -- "$word"))`;
}

/** For zsh, as an autoloaded function. */
export function zshCompletion(commands: Completable[]): string {
  const rows = commands.map(({ name, summary }) => `    ${quote(`${name}:${summary}`)}`);
  const cases = commands.map(({ name, flags, takes }) => {
    const specs = flags.flatMap(({ flag, short, help, value }) => {
      const end = `[${help.replace(/[[\]:]/g, "")}]${value ? `:value:${zshOffer(value)}` : ""}`;
      return [
        quote(`--${flag}${value ? "=" : ""}${end}`),
        ...(short ? [quote(`-${short}${value ? "+" : ""}${end}`)] : []),
      ];
    });
    return `    ${name}) _arguments ${[...specs, quote(`*:operand:${zshOffer(takes)}`)].join(" ")} ;;`;
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

function zshOffer(choices: Choices): string {
  if (choices === "anything") return " ";
  if (choices === "apps") return "_nckubelet_apps";
  return choices === "files" ? "_files" : `(${choices.join(" ")})`;
}

export function fishCompletion(commands: Completable[]): string {
  const lines = commands.flatMap(({ name, summary, flags, takes }) => {
    const when = quote(`__fish_seen_subcommand_from ${name}`);
    return [
      `complete -c nckubelet -n __fish_use_subcommand -f -a ${name} -d ${quote(summary)}`,
      ...flags.map(({ flag, short, help, value }) =>
        `complete -c nckubelet -n ${when} -l ${flag}${short ? ` -s ${short}` : ""}${
          value ? ` ${fishOffer(value, "-x", "-r -F")}` : ""
        } -d ${quote(help)}`
      ),
      ...(takes === "files" ? [] : [`complete -c nckubelet -n ${when} ${fishOffer(takes, "-f", "")}`]),
    ];
  });
  return `# fish completion for nckubelet\n${lines.join("\n")}\n`;
}

function fishOffer(choices: Choices, only: string, files: string): string {
  if (choices === "files") return files;
  if (choices === "anything") return only;
  return `${only} -a ${quote(choices === "apps" ? `(${listApps})` : choices.join(" "))}`;
}

/** Quotes text for sh and zsh, and for fish unless it has a backslash. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
