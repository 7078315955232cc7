const secretName = /((^|_)(password|passphrase|secret|psk|key|keypair|kek|mack|token|apitoken)|^community_name)$/i
/** Fields with several named secrets, as in the settings of OSPF. Headers often authorize requests. */
const secretsName = /((^|_)(auth_keys|passwords|secrets|psks)|^headers)$/i
/** Addresses may contain a login, or a token in their path or query. */
const urlName = /(^|_)url$/i

type NameKind = 'secrets' | 'secret' | 'url' | 'other'

/** The names in documents are mostly the same, and a large document has a hundred thousand. */
const kinds = new Map<string, NameKind>()
const MAX_KINDS = 10_000
/** Longer names are not worth the memory. */
const MAX_LENGTH = 100

function kindOf(name: string): NameKind {
  const known = kinds.get(name)
  if (known !== undefined) return known
  const kind = secretsName.test(name)
    ? 'secrets'
    : secretName.test(name)
      ? 'secret'
      : urlName.test(name)
        ? 'url'
        : 'other'
  if (kinds.size >= MAX_KINDS) kinds.clear()
  if (name.length <= MAX_LENGTH) kinds.set(name, kind)
  return kind
}

/** True if a field of a document contains secrets, which answers hide from callers who may not see them. */
export function isSecret(name: string, value: unknown): boolean {
  const kind = kindOf(name)
  return kind === 'secrets' || (kind === 'secret' && (typeof value === 'string' || Array.isArray(value)))
}

export function isUrl(name: string, value: unknown): value is string {
  return typeof value === 'string' && kindOf(name) === 'url'
}

/** True if the field is encrypted where the document is stored. Null and an empty text are not secrets. */
export function isSealed(name: string, value: unknown): boolean {
  return value !== '' && value !== null && (isSecret(name, value) || isUrl(name, value))
}
