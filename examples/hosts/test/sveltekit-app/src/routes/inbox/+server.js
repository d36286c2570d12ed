export const GET = ({ locals }) => Response.json({ inbox: locals.user.id });
