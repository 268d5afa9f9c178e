// Package picture scales pictures down to what models accept, and turns them upright.
//
// A picture that already fits is returned unchanged; only its header is read to find out. Others are decoded, turned, scaled and encoded
// as JPEG. Pictures come from strangers: the size in the header is checked before anything is decoded, and one picture is decoded at a
// time. Results are kept up to a limit in bytes, because a picture is sent again with each completion.
package picture
