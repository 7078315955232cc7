/** A file in a form. */
export interface FormPart {
  readonly name: string
  readonly type: string
  readonly bytes: Uint8Array
}

/** Encodes the body of a form (`multipart/form-data`) with texts and files, and the header that belongs to it. */
export async function encodeForm(
  parts: Readonly<Record<string, string | FormPart>>,
): Promise<{ readonly body: Uint8Array; readonly headers: { readonly 'content-type': string } }> {
  const form = new FormData()
  for (const [field, part] of Object.entries(parts))
    if (typeof part === 'string') form.set(field, part)
    else form.set(field, new Blob([new Uint8Array(part.bytes)], { type: part.type }), part.name)
  const encoded = new Response(form)
  const body = new Uint8Array(await encoded.arrayBuffer())
  return { body, headers: { 'content-type': encoded.headers.get('content-type') ?? '' } }
}
