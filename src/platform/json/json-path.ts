/**
 * A subset of JSONPath (RFC 9535) whose cost has a bound: names, indexes, wildcards and filters, but no descendants (`..`),
 * slices, functions or filters within filters. One side of a comparison is a literal.
 */
export type JsonPath = readonly Segment[]

/** The selectors between one pair of brackets. */
export type Segment = readonly Selector[]

export type Selector =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  | { readonly kind: 'filter'; readonly expression: Expression }

export type Expression =
  | { readonly kind: 'or' | 'and'; readonly parts: readonly Expression[] }
  | { readonly kind: 'not'; readonly part: Expression }
  | { readonly kind: 'exists'; readonly path: SingularPath }
  | {
      readonly kind: 'compare'
      readonly path: SingularPath
      readonly operator: Operator
      readonly literal: Literal
    }

/** Selects at most one value. */
export interface SingularPath {
  /** `@`, the value that the filter tests, or `$`. */
  readonly from: 'current' | 'root'
  readonly steps: readonly (string | number)[]
}

export type Operator = '==' | '!=' | '<' | '<=' | '>' | '>='

export type Literal = string | number | boolean | null

/** Bounds the work for one document. */
const MAX_STEPS = 10_000

/** Texts that begin alike cost a step for so many characters. */
const CHARACTERS_PER_STEP = 16

/** The values of the members of objects. To list those of an object with 100,000 members takes some fifty milliseconds. */
export type ListedMembers = Map<object, readonly unknown[]>

class OutOfSteps extends Error {}

/**
 * Returns whether the path selects anything in the document.
 * @param members Lets several paths share what they list of the same document.
 * @returns True also if the answer would need more than 10,000 steps.
 */
export function selectsAny(path: JsonPath, root: unknown, members: ListedMembers = new Map()): boolean {
  const search = { root, members, steps: 0 }
  try {
    return path.length === 0 || isAnySelected(path, search)
  } catch (error) {
    if (error instanceof OutOfSteps) return true
    throw error
  }
}

interface Search {
  readonly root: unknown
  readonly members: ListedMembers
  steps: number
}

function isAnySelected(path: JsonPath, search: Search): boolean {
  /**
   * Only objects and arrays have members to select. The set prevents a value that was selected twice from counting
   * twice.
   */
  let nodes: ReadonlySet<unknown> = new Set([search.root])
  for (const [place, segment] of path.entries()) {
    const isLast = place === path.length - 1
    const next = new Set<unknown>()
    for (const node of nodes)
      for (const selector of segment)
        for (const value of select(selector, node, search)) {
          if (isLast) return true
          if (typeof value === 'object' && value !== null) next.add(value)
        }
    nodes = next
  }
  return false
}

function* select(selector: Selector, node: unknown, search: Search): Iterable<unknown> {
  if (typeof node !== 'object' || node === null) return
  switch (selector.kind) {
    case 'name':
    case 'index': {
      const value = member(node, selector.kind === 'name' ? selector.name : selector.index, search)
      if (value !== undefined) yield value
      return
    }
    case 'all':
      for (const value of listMembers(node, search)) {
        count(search)
        yield value
      }
      return
    case 'filter':
      for (const value of listMembers(node, search)) if (holds(selector.expression, value, search)) yield value
  }
}

/** Lists the values of an array, or of an object: as many as there are steps, because each costs at least one. */
function listMembers(node: object, { members }: Search): readonly unknown[] {
  if (Array.isArray(node)) return node
  const known = members.get(node)
  if (known !== undefined) return known
  const values: unknown[] = []
  for (const name in node) {
    values.push((node as Readonly<Record<string, unknown>>)[name])
    if (values.length > MAX_STEPS) break
  }
  members.set(node, values)
  return values
}

function count(search: Search): void {
  search.steps += 1
  if (search.steps > MAX_STEPS) throw new OutOfSteps()
}

/** JSON has no undefined, so it means "no such member". */
function member(node: unknown, step: string | number, search: Search): unknown {
  count(search)
  if (typeof step === 'number') return Array.isArray(node) ? node.at(step) : undefined
  if (typeof node !== 'object' || node === null || Array.isArray(node) || !Object.hasOwn(node, step)) return undefined
  return (node as Readonly<Record<string, unknown>>)[step]
}

function holds(expression: Expression, current: unknown, search: Search): boolean {
  count(search)
  switch (expression.kind) {
    case 'or':
      return expression.parts.some((part) => holds(part, current, search))
    case 'and':
      return expression.parts.every((part) => holds(part, current, search))
    case 'not':
      return !holds(expression.part, current, search)
    case 'exists':
      return valueOf(expression.path, current, search) !== undefined
    case 'compare':
      return compares(valueOf(expression.path, current, search), expression, search)
  }
}

function valueOf({ from, steps }: SingularPath, current: unknown, search: Search): unknown {
  return steps.reduce<unknown>(
    (value, step) => (value === undefined ? undefined : member(value, step, search)),
    from === 'root' ? search.root : current,
  )
}

/** Only numbers and strings have an order, and only among themselves. */
function compares(
  value: unknown,
  { operator, literal }: { readonly operator: Operator; readonly literal: Literal },
  search: Search,
): boolean {
  switch (operator) {
    case '==':
      return value === literal
    case '!=':
      return value !== literal
    case '<':
      return isLess(value, literal, search)
    case '<=':
      return value === literal || isLess(value, literal, search)
    case '>':
      return isLess(literal, value, search)
    case '>=':
      return value === literal || isLess(literal, value, search)
  }
}

function isLess(a: unknown, b: unknown, search: Search): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a < b
  return typeof a === 'string' && typeof b === 'string' && isTextLess(a, b, search)
}

/** Compares by characters. It reads no more of a long text than the literal has, and copies nothing. */
function isTextLess(a: string, b: string, search: Search): boolean {
  const length = Math.min(a.length, b.length)
  let at = 0
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) {
    at += 1
    if (at % CHARACTERS_PER_STEP === 0) count(search)
  }
  if (at === length) return a.length < b.length
  const [unitOfA, unitOfB] = [a.charCodeAt(at), b.charCodeAt(at)]
  // Characters beyond U+FFFF are pairs of units that are smaller than those from U+E000 on.
  return isHalf(unitOfA) === isHalf(unitOfB) ? unitOfA < unitOfB : isHalf(unitOfB)
}

function isHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}
