import { SaxesParser } from 'saxes'

/** An element without its namespace, which Junos changes with each release. */
export interface XmlElement {
  /** The local name. */
  readonly name: string
  /** By local name: `junos:seconds` is `seconds`. */
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly XmlElement[]
  /** The text directly inside, without surrounding white space. */
  readonly text: string
}

/** The text is not well-formed, has a document type, or is deeper or larger than any real reply. */
export class XmlError extends Error {}

/** Twice that of a chassis inventory. Reading a reply takes time in proportion to it, or to its square. */
const MAX_DEPTH = 20
const MAX_ELEMENTS = 20_000
const MAX_ATTRIBUTES = 32

interface Open {
  readonly name: string
  readonly attributes: Record<string, string>
  readonly children: XmlElement[]
  text: string
}

/**
 * Parses one document. A document type is refused, so that no entity can be declared; only the five predefined ones and
 * characters by number are known.
 * @throws XmlError
 */
export function parseXml(source: string): XmlElement {
  const parser = new SaxesParser({ xmlns: false })
  const open: Open[] = []
  let root: XmlElement | null = null
  let count = 0
  parser.on('error', (error) => fail(error.message))
  parser.on('doctype', () => fail('a document type is not allowed'))
  parser.on('opentag', ({ name, attributes }) => {
    count += 1
    if (count > MAX_ELEMENTS) fail('there are too many elements')
    if (open.length >= MAX_DEPTH) fail('elements are nested too deeply')
    open.push({ name: localName(name), attributes: localNames(attributes), children: [], text: '' })
  })
  const addText = (text: string): void => {
    const last = open.at(-1)
    if (last !== undefined) last.text += text
  }
  parser.on('text', addText)
  parser.on('cdata', addText)
  parser.on('closetag', () => {
    const closed = open.pop()
    if (closed === undefined) return fail('an element is closed twice')
    const element: XmlElement = { ...closed, text: closed.text.trim() }
    const parent = open.at(-1)
    if (parent === undefined) root = element
    else parent.children.push(element)
  })
  parser.write(source).close()
  return root ?? fail('there is no element')
}

function fail(why: string): never {
  throw new XmlError(why)
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

function localNames(attributes: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(attributes)
  if (entries.length > MAX_ATTRIBUTES) fail('an element has too many attributes')
  // Without a prototype, no name from a device can match a built-in property of JavaScript.
  return Object.assign(
    Object.create(null) as Record<string, string>,
    Object.fromEntries(entries.map(([name, value]) => [localName(name), value])),
  )
}

/** Returns the first child with that name. */
export function childOf(element: XmlElement, name: string): XmlElement | undefined {
  return element.children.find((child) => child.name === name)
}

/** Returns the elements with one of the names at any depth, in document order; those inside others are included. */
export function findAll(element: XmlElement, ...names: readonly string[]): XmlElement[] {
  const found: XmlElement[] = []
  const visit = (current: XmlElement): void => {
    for (const child of current.children) {
      if (names.includes(child.name)) found.push(child)
      visit(child)
    }
  }
  visit(element)
  return found
}

/** Returns the text of the first element with one of the names at any depth; null if there is none, or it is empty. */
export function textOf(element: XmlElement, ...names: readonly string[]): string | null {
  const text = findAll(element, ...names)[0]?.text
  return text === undefined || text === '' ? null : text
}

/** The content of an element to encode: none, text, or elements by name in their order. */
export type XmlContent = true | string | number | { readonly [name: string]: XmlContent }

/** Encodes an element; names come from the program, texts from anywhere. */
export function encodeXml(name: string, content: XmlContent): string {
  if (content === true) return `<${name}/>`
  if (typeof content === 'object') {
    const inner = Object.entries(content).map(([child, value]) => encodeXml(child, value))
    return `<${name}>${inner.join('')}</${name}>`
  }
  return `<${name}>${escapeText(String(content))}</${name}>`
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

// oxlint-disable-next-line no-control-regex
const impossible = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

/** Characters that XML can't contain are removed. */
function escapeText(text: string): string {
  return text.replace(impossible, '').replace(/[&<>]/g, (character) => escapes[character] ?? '')
}
