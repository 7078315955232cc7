import type { Json, JsonObject } from './api.ts'

/** The columns of terminals that report no width. */
export const USUAL_COLUMNS = 80

/** The output of a command. */
export interface Output {
  /** Prints a value as one line of JSON with `--json`, and otherwise the result of `text`. */
  show(value: Json, text: () => string): void
  /** Prints a line for people, which `--json` leaves out. */
  tell(line: string): void
  /** Prints progress for people. On a terminal each line replaces the one before. */
  progress(line: string): void
  /** Ends the line of the progress, so that other lines follow it. */
  endProgress(): void
  /** True if lines of progress replace each other. */
  readonly isLive: boolean
}

interface Screen extends NodeJS.WritableStream {
  readonly columns?: number
  readonly isTTY?: boolean
}

export interface Terminal {
  readonly stdout: Screen
  readonly stderr: Screen
}

const CLEAR_LINE = '\r\u001b[K'

export function createOutput({ stdout, stderr }: Terminal, isJson: boolean): Output {
  const isLive = stderr.isTTY === true && !isJson
  let last = ''
  function endProgress(): void {
    if (isLive && last !== '') stderr.write('\n')
    last = ''
  }
  return {
    show(value, text) {
      endProgress()
      stdout.write(`${isJson ? JSON.stringify(value) : text()}\n`)
    },
    tell(line) {
      endProgress()
      if (!isJson) stderr.write(`${line}\n`)
    },
    progress(line) {
      if (isJson || line === last) return
      last = line
      // The terminal would wrap a longer line, and only its second part would be cleared.
      stderr.write(isLive ? CLEAR_LINE + cut(line, stderr.columns ?? USUAL_COLUMNS) : `${line}\n`)
    },
    endProgress,
    isLive,
  }
}

/** A column of a table: its heading, and the cell of a row. */
export interface Column {
  readonly heading: string
  readonly of: (row: JsonObject) => Json | undefined
}

/** Returns a column for each named field; `_` of a name is a blank in its heading. */
export function fields(...names: readonly string[]): Column[] {
  return names.map((name) => ({ heading: name.replaceAll('_', ' '), of: (row) => row[name] }))
}

/**
 * Aligns rows under their headings. Lines wider than the terminal are truncated, so that each row is one line.
 * @param width Columns of the terminal; Infinity if the output is not a terminal.
 */
export function table(columns: readonly Column[], rows: readonly JsonObject[], width: number): string {
  const cells = [
    columns.map(({ heading }) => heading.toUpperCase()),
    ...rows.map((row) => columns.map(({ of }) => textOf(of(row)))),
  ]
  // Not Math.max(): an organization has more rows than a call may have arguments.
  const widths = columns.map((_, place) => cells.reduce((most, line) => Math.max(most, line[place]?.length ?? 0), 0))
  return cells
    .map((line) => line.map((cell, place) => cell.padEnd(widths[place] ?? 0)).join('  '))
    .map((line) => cut(line.trimEnd(), width))
    .join('\n')
}

/** Shows the fields of one object, one to a line. */
export function details(value: JsonObject): string {
  const known = Object.entries(value).filter(([, each]) => each !== null && each !== '')
  const width = Math.max(0, ...known.map(([name]) => name.length))
  return known.map(([name, each]) => `${name.padEnd(width)}  ${textOf(each)}`).join('\n')
}

/** Presents a value in one line. Texts from devices must not move the cursor of a terminal. */
export function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
}

const instant = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g

/** Presents a text of the server in which instants, such as `2026-12-01T01:00:00.000Z`, are as in timeText(). */
export function reasonText(reason: Json | undefined): string {
  return textOf(reason).replace(instant, (iso) => timeText(Date.parse(iso) / 1000) || iso)
}

function cut(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`
}

const BAR_WIDTH = 30
const PERCENT = 100

/** Draws a share from 0 to 1 as a bar with its percentage. */
export function bar(share: number): string {
  const filled = Math.floor(share * BAR_WIDTH)
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${Math.floor(share * PERCENT)} %`
}

/** Presents a time of the server in the time zone of this machine, such as `2026-12-01 02:00:00 CET`. */
export function timeText(epochS: Json | undefined): string {
  if (typeof epochS !== 'number' || !Number.isFinite(epochS)) return ''
  // Without the styles of its parts, the hours before ten would have one digit.
  const twoDigits = { month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
  return new Date(epochS * 1000).toLocaleString('sv-SE', { year: 'numeric', ...twoDigits, timeZoneName: 'short' })
}
