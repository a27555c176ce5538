/** The content of the measured newsletter: about 4 KiB of html. */
const paragraph = `<p style="font-size:16px;line-height:1.5">${'What happened this month, in a few words. '.repeat(20)}</p>`

export const newsletterHtml = `<!doctype html><html><body><h1>News</h1>${paragraph.repeat(4)}
<a href="{{ unsubscribe_url }}">Unsubscribe</a></body></html>`
