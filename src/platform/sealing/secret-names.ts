const secretName = /((^|_)(password|passphrase|secret|psk|key|keypair|kek|mack|token|apitoken)|^community_name)$/i
/** Fields with several named secrets, as in the settings of OSPF. Headers often authorize requests. */
const secretsName = /((^|_)(auth_keys|passwords|secrets|psks)|^headers)$/i
/** Addresses may contain a login, or a token in their path or query. */
const urlName = /(^|_)url$/i

/** True if a field of a document contains secrets, which answers hide from callers who may not see them. */
export function isSecret(name: string, value: unknown): boolean {
  return secretsName.test(name) || ((typeof value === 'string' || Array.isArray(value)) && secretName.test(name))
}

export function isUrl(name: string, value: unknown): value is string {
  return typeof value === 'string' && urlName.test(name)
}

/** True if the field is encrypted where the document is stored. Null and an empty text are no secrets. */
export function isSealed(name: string, value: unknown): boolean {
  return value !== '' && value !== null && (isSecret(name, value) || isUrl(name, value))
}
