// Made by go generate from internal/console/base (ff01c945127c6838407e27346c02ca524be040160775c0fdc96b8ac806c3c442): do not edit.
var place="sluice.key",Refused=class extends Error{constructor(status,message,code=""){super(message),this.status=status,this.code=code}},asked=()=>{};function onSignedOut(ask2){asked=ask2}var me=null,acts=()=>me?.role==="operator"||me?.role==="owner",owns=()=>me?.role==="owner",wasSignedIn=()=>!!localStorage.getItem(place),arriving=null,arrive=()=>arriving??=signInFromAddress(),brought=name=>new URLSearchParams(location.hash.slice(1)).get(name),tokenBrought=()=>brought("token");async function signInFromAddress(){let token2=brought("token"),link=brought("link");return!token2&&!link?"":(history.replaceState(null,"",location.pathname+location.search),signIn(link?{link}:{token:token2}))}async function signIn(body){if("token"in body&&!body.token.trim())return"sign.empty";let answer;try{answer=await fetch("/login",{method:"POST",headers:{"Content-Type":"application/json","Sluice-Client":"page"},body:JSON.stringify("token"in body?{token:body.token.trim()}:body),cache:"no-store"})}catch{return"sign.silent"}if(answer.status===429)return"sign.often";if(answer.status>=500)return"sign.broken";if(!answer.ok)return body.link?"sign.link":"sign.unknown";let given=await answer.json();return localStorage.setItem(place,given.key),await become(given.me),""}async function whoAmI(){me??=await json("/v1/me")}function become(now){let before=me;if(me=now,!(!before||["actor","role","level"].every(key=>before[key]===now[key])))return startAgain()}var leaving=!1;function startAgain(){return leaving||location.reload(),new Promise(()=>{})}var elsewhere=()=>{},signedIn=new Promise(done=>elsewhere=done),signedInElsewhere=()=>signedIn;addEventListener("storage",async e3=>{if(!(e3.key!==null&&e3.key!==place)){if(!wasSignedIn())return location.assign("/");try{await become(await(await call("/v1/me")).json())}catch{return location.reload()}elsewhere(),signedIn=new Promise(done=>elsewhere=done)}});var canSignOut=()=>me?.via!=="proxy"||!!me.sign_out;async function signOut(){leaving=!0;let ended=call("/logout",{method:"POST"}).catch(()=>{});for(let key of Object.keys(localStorage))key.startsWith("sluice.")&&!["sluice.theme","sluice.language","sluice.keys"].includes(key)&&localStorage.removeItem(key);sessionStorage.clear(),await ended,location.assign(me?.via==="proxy"&&me.sign_out?me.sign_out:"/")}var fromPage={Accept:"application/json","Sluice-Client":"page"};function credentials(){let key=localStorage.getItem(place);return{...fromPage,...key&&{"Sluice-Key":key}}}async function call(path,options={}){let{body,headers,...rest}=options,key=localStorage.getItem(place),given={...credentials(),...headers},raw=body instanceof Blob;body!==void 0&&!raw&&(given["Content-Type"]="application/json");let answer=await fetch(path,{...rest,headers:given,redirect:"manual",body:raw||body===void 0?body:JSON.stringify(body),cache:"no-store"});if(answer.ok)return answer;if(me?.via==="proxy"&&path!=="/logout"&&(answer.status===401||answer.type==="opaqueredirect"))return startAgain();let problem=await answer.json().catch(()=>({}));if(answer.status===401&&path!=="/logout")return localStorage.getItem(place)===key&&await asked(),call(path,options);throw new Refused(answer.status,problem.message??"HTTP "+answer.status,problem.error)}var early=new Map,earlyMax=5e3;function keyOf(path){let url=new URL(path,location.origin);return url.searchParams.sort(),url.pathname+url.search}function askEarly(path,token2=""){let headers=token2?{...fromPage,Authorization:"Bearer "+token2}:credentials();early.set(keyOf(path),{at:performance.now(),answer:fetch(path,{headers,cache:"no-store"}).then(answer=>answer.ok?answer:null,()=>null)})}async function read(path,options){let asked3=!options&&early.size>0&&early.get(keyOf(path));return asked3?(early.delete(keyOf(path)),performance.now()-asked3.at<earlyMax&&await asked3.answer||call(path)):call(path,options)}async function json(path,options){let answer=await read(path,options);return answer.status===204?null:answer.json()}var post=(path,body)=>json(path,{method:"POST",body});async function page(path,options){let answer=await read(path,options);return{body:await answer.json(),next:/<([^>]*)>; rel="next"/.exec(answer.headers.get("Link")??"")?.[1]??""}}async function events(answer,on,beat=()=>{}){let reader=answer.body.pipeThrough(new TextDecoderStream).getReader(),rest="";for(;;){let{value,done}=await reader.read();if(done)return;beat();let frames=(rest+value).split(`

`);rest=frames.pop();for(let frame of frames){let data=frame.split(`
`).filter(l3=>l3.startsWith("data:")).map(l3=>l3.slice(5).trimStart()).join(`
`);data&&on(JSON.parse(data),/^id: *(.*)$/m.exec(frame)?.[1],/^event: *(.*)$/m.exec(frame)?.[1])}}}async function file(id){return(await call("/v1/media/"+encodeURIComponent(id),{headers:{Accept:"*/*"}})).blob()}var save=async f3=>give(await file(f3.id),f3.name),saveAnswer=async(path,name,type)=>give(await(await call(path,{headers:{Accept:type}})).blob(),name);function give(content,name){let link=document.createElement("a");link.href=URL.createObjectURL(content),link.download=name,link.click(),setTimeout(()=>URL.revokeObjectURL(link.href),6e4)}var query=values=>{let text=new URLSearchParams(filled(values)).toString();return text&&"?"+text},filled=values=>Object.fromEntries(Object.entries(values).filter(([,v3])=>v3!==""&&v3!==void 0&&v3!==null));var lists={conversations:"sessions",runs:"runs",deliveries:"deliveries",inbox:"approvals",memory:"memory",alerts:"alerts",audit:"audit"};function first(){let[view,id]=location.pathname.slice(1).split("/");if(!view||view==="overview")return["/v1/overview"];let filters=new URLSearchParams([...new URLSearchParams(location.search)].filter(([,value])=>value));if(!lists[view]||filters.has("part"))return[];for(let name of["tab","find"])filters.delete(name);filters.set("limit","50");let list="/v1/"+lists[view];return[list+"?"+filters,...id&&view!=="audit"?[list+"/"+id]:[]]}var token=tokenBrought();if(token)for(let path of first())askEarly(path,token);arrive().then(wrong=>{if(!(token||wrong||!wasSignedIn()))for(let path of me?first():["/v1/me",...first()])askEarly(path)});var n,t,r,u,i,f,o,e,l,c,a,s,h=Symbol.for("pv"),p={},y=[],v=/^m(i|n|o|s|text|space)$/,w=Array.isArray,d=y.slice,_=Object.assign;function g(n3){n3&&n3.parentNode&&n3.remove()}function k(n3,t5,r3){var u3,i3,f3,o3={},e3=arguments.length;for(f3 in t5)f3=="key"?u3=t5[f3]:f3=="ref"&&typeof n3!="function"?i3=t5[f3]:o3[f3]=t5[f3];return e3>2&&(o3.children=e3>3?d.call(arguments,2):r3),m(n3,o3,u3,i3,null)}function m(r3,u3,i3,f3,o3){var e3={type:r3,props:u3,key:i3,ref:f3,__k:null,__:null,__b:0,__e:null,__c:null,constructor:h,__v:o3||++t,__i:-1,__u:0};return!o3&&n.vnode&&n.vnode(e3),e3}function $(n3){return n3.children}function x(n3,t5){this.props=n3,this.context=t5,this.__g=0}function S(n3,t5){if(t5==null)return n3.__&&S(n3.__,n3.__i+1);for(var r3;t5<n3.__k.length;t5++)if((r3=n3.__k[t5])&&r3.__e)return r3.__e;return typeof n3.type!="function"||n3.props.__P?null:S(n3)}function C(t5){var r3,u3=t5.__v,i3=u3.__e,f3=[],o3=[],e3=t5.__P;e3&&((r3=_({constructor:h},u3)).__v=u3.__v+1,n.vnode&&n.vnode(r3),z(e3,r3,u3,t5.__n,e3.namespaceURI,32&u3.__u?[i3]:null,f3,i3||S(u3),32&u3.__u,o3),r3.__v=u3.__v,r3.__.__k[r3.__i]=r3,E(f3,r3,o3),u3.__=u3.__e=null,r3.__e!=i3&&j(r3))}function j(n3){if((n3=n3.__)&&n3.__c&&!n3.props.__P)return n3.__e=null,n3.__k.some(function(t5){return t5&&(n3.__e=t5.__e)}),j(n3)}function L(t5){(8&t5.__g||(t5.__g|=8,u.push(t5),f++))&&i==n.debounceRendering||((i=n.debounceRendering)||queueMicrotask)(H)}function H(){try{for(var n3,t5=1;u.length;)u.length>t5&&u.sort(o),n3=u.shift(),t5=u.length,8&n3.__g&&C(n3)}finally{(f=u.length)&&(i||queueMicrotask)(H)}}function I(n3,t5,r3,u3,i3,f3,o3,e3,l3,c3,a3){var s3,h3,v3,w3,d3,_3,g3=u3.__k||y,k3=t5.length;for(l3=q(r3,t5,g3,l3,k3),s3=0;s3<k3;s3++)(v3=r3.__k[s3])!=null&&(h3=~v3.__i&&g3[v3.__i]||p,v3.__i=s3,_3=z(n3,v3,h3,i3,f3,o3,e3,l3,c3,a3),w3=v3.__e,(h3.ref!=v3.ref||8&h3.__u)&&(h3.ref&&G(h3.ref,null,v3,h3),v3.ref&&a3.push(v3.ref,v3.__c||w3,v3)),d3=d3||w3,4&v3.__u?(l3=A(v3,l3,n3,!h3.__v),h3.__e&&(h3.__e=null)):typeof v3.type=="function"&&_3!==void 0?l3=_3:w3&&(l3=w3.nextSibling),v3.__u&=-21);return r3.__e=d3,l3}function q(n3,t5,r3,u3,i3){var f3,o3,e3,l3,c3,a3,s3,p3,y3,v3=r3.length,d3=v3,_3=0,g3=0,k3=n3.__k=Array(i3);for(f3=0;f3<i3;f3++)(o3=t5[f3])!=null&&typeof o3!="boolean"&&typeof o3!="function"?(typeof o3!="object"||o3.constructor===String?o3=k3[f3]=m(null,o3):w(o3)?o3=k3[f3]=m($,{children:o3}):o3.constructor===h&&o3.__b?o3=k3[f3]=m(o3.type,o3.props,o3.key,o3.ref,o3.__v):k3[f3]=o3,l3=f3+_3,o3.__=n3,o3.__b=n3.__b+1,e3=null,~(c3=o3.__i=P(o3,r3,l3,d3))&&(d3--,(e3=r3[c3])&&(e3.__u|=2)),e3&&e3.__v?(o3.__u|=16,c3==l3-1?_3--:c3==l3+1?_3++:c3!=l3&&(c3>l3?_3--:_3++,g3=1)):(~c3||(i3>v3?_3--:i3<v3&&_3++),typeof o3.type!="function"&&(o3.__u|=4))):k3[f3]=null;if(g3){for(a3=[],s3=[],f3=0;f3<i3;f3++)if((o3=k3[f3])&&16&o3.__u){for(_3=0,p3=a3.length;_3<p3;)a3[y3=_3+p3>>1]<o3.__i?_3=y3+1:p3=y3;a3[_3]=o3.__i,s3[f3]=_3+1}for(_3=a3.length;f3--;)s3[f3]&&(s3[f3]==_3?_3--:k3[f3].__u|=4)}if(d3)for(f3=0;f3<v3;f3++)!(e3=r3[f3])||2&e3.__u||(e3.__e==u3&&(u3=S(e3)),J(e3,e3));return u3}function A(n3,t5,r3,u3){var i3,f3,o3,e3;if(typeof n3.type=="function"){if(n3.props.__P)return t5;if(i3=n3.__k)for(f3=0;f3<i3.length;f3++)i3[f3]&&(i3[f3].__=n3,t5=A(i3[f3],t5,r3,!1));return t5}for(t5&&!t5.parentNode&&(t5=S(n3))&&!t5.parentNode&&(t5=null),o3=n3.__e,e3=t5;e3&&e3.nodeType==8;)e3=e3.nextSibling;for(o3!=e3&&(!u3&&r3.moveBefore&&o3.parentNode?r3.moveBefore(o3,t5):r3.insertBefore(o3,t5||null)),t5=o3;(t5=t5&&t5.nextSibling)&&t5.nodeType==8&&!t5.data.startsWith("$s"););return t5}function P(n3,t5,r3,u3){var i3,f3=n3.key,o3=n3.type,e3=t5[r3],l3=e3&&!(2&e3.__u);if(e3===null&&f3==null||l3&&f3==e3.key&&o3==e3.type)return r3;if(u3>(l3?1:0)){for(i3=r3-1;i3>=0;i3--)if((e3=t5[i3])&&!(2&e3.__u)&&f3==e3.key&&o3==e3.type)return i3;for(i3=r3+1;i3<t5.length;i3++)if((e3=t5[i3])&&!(2&e3.__u)&&f3==e3.key&&o3==e3.type)return i3}return-1}function T(n3,t5,r3){r3==null&&(r3=""),t5[0]=="-"?n3.setProperty(t5,r3):n3[t5]=r3}function N(n3,t5,r3,u3,i3){var f3,o3;if(t5=="style")if(typeof r3=="string")n3.style.cssText=r3;else{if(typeof u3=="string"&&(n3.style.cssText=u3=""),u3)for(t5 in u3)r3&&t5 in r3||T(n3.style,t5);if(r3)for(t5 in r3)u3&&r3[t5]==u3[t5]||T(n3.style,t5,r3[t5])}else if(t5[0]=="o"&&t5[1]=="n")typeof r3!="function"&&(r3=null),typeof u3!="function"&&(u3=null),(n3.__e||(n3.__e={}))[t5]=r3,r3&&u3||(o3=a[t5]||(a[t5]=V(t5)),(n3.__a||(n3.__a={}))[t5]=c,f3=t5!=(t5=t5.replace(l,"$1")),(t5=t5.slice(2))[0]<"a"&&(t5=t5.toLowerCase()),r3?n3.addEventListener(t5,o3,f3):n3.removeEventListener(t5,o3,f3));else{if(i3=="http://www.w3.org/2000/svg")t5=t5.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(t5!="width"&&t5!="height"&&t5!="href"&&t5!="list"&&t5!="form"&&t5!="tabIndex"&&t5!="download"&&t5!="rowSpan"&&t5!="colSpan"&&t5!="role"&&t5!="popover"&&t5 in n3)try{return void(n3[t5]=r3??"")}catch{}if(typeof r3=="function")return;r3==null||r3===!1&&t5[4]!="-"?n3.removeAttribute(t5):n3.setAttribute(t5,t5=="popover"&&r3==1?"":r3)}}function V(t5){return function(r3){var u3=this.__e;if(u3){if(u3=u3[t5],r3[e]==null)r3[e]=c++;else if(r3[e]<this.__a[t5])return;return u3(n.event?n.event(r3):r3)}}}function z(t5,r3,u3,i3,f3,o3,e3,l3,c3,a3){var s3,p3,v3,d3,k3,b2,m3,M,C3,j2,L2,H2,q2,A3,O,P2,T3,N2,V2=r3.type;if(r3.constructor!==h)return null;128&u3.__u&&(c3=32&u3.__u,s3=u3.__c.__z)&&(r3.__u|=c3,p3=o3=[],s3.nodeType==8?l3=B(s3,o3):o3.push(s3),l3=o3[0]||l3),(s3=n.__b)&&s3(r3);n:if(typeof V2=="function"){v3=e3.length;try{if(M=r3.props,C3=(s3=V2.prototype)&&s3.render,j2=(s3=V2.contextType)&&i3[s3.__c],L2=s3?j2?j2.props.value:s3.__:i3,(d3=u3.__c)?(r3.__c=d3,2&d3.__g&&(d3.__g|=1)):(C3?r3.__c=d3=new V2(M,L2):(r3.__c=d3=new x(M,L2),d3.constructor=V2,d3.render=K),j2&&j2.sub(d3),d3.state||(d3.state={}),d3.__n=i3,d3.__g|=8,d3.__h=[],d3.__k=[]),C3&&(d3.__s||(d3.__s=d3.state),V2.getDerivedStateFromProps&&(d3.__s==d3.state&&(d3.__s=_({},d3.__s)),_(d3.__s,V2.getDerivedStateFromProps(M,d3.__s)))),k3=d3.props,b2=d3.state,d3.__v=r3,u3.__c){if(M!==k3&&C3&&!V2.getDerivedStateFromProps&&d3.componentWillReceiveProps&&d3.componentWillReceiveProps(M,L2),r3.__v==u3.__v&&!(8&d3.__g)||!(4&d3.__g)&&d3.shouldComponentUpdate&&d3.shouldComponentUpdate(M,d3.__s,L2)===!1){r3.__v!=u3.__v&&(d3.props=M,d3.state=d3.__s,d3.__g&=-9),r3.__e=u3.__e,r3.__k=u3.__k,r3.__k.some(function(n3){n3&&(n3.__=r3)}),y.push.apply(d3.__h,d3.__k),d3.__k=[],d3.__h.length&&e3.push(d3),l3=S(u3);break n}d3.componentWillUpdate&&d3.componentWillUpdate(M,d3.__s,L2),C3&&d3.componentDidUpdate&&d3.__h.push(function(){d3.componentDidUpdate(k3,b2,m3)})}else C3&&!V2.getDerivedStateFromProps&&d3.componentWillMount&&d3.componentWillMount(),C3&&d3.componentDidMount&&d3.__h.push(d3.componentDidMount);d3.context=L2,d3.props=M,d3.__P=t5,d3.__g&=-5,H2=n.__r,q2=C3?25:0;do d3.__g&=-9,H2&&H2(r3),s3=d3.render(d3.props,d3.state=d3.__s,d3.context);while(8&d3.__g&&++q2<25);C3&&(y.push.apply(d3.__h,d3.__k),d3.__k=[]),d3.state=d3.__s,d3.getChildContext&&(i3=_({},i3,d3.getChildContext())),C3&&u3.__c&&d3.getSnapshotBeforeUpdate&&(m3=d3.getSnapshotBeforeUpdate(k3,b2)),A3=s3&&s3.type===$&&s3.key==null?s3.props.children:s3,M.__P&&(s3=l3,f3=(t5=M.__P).namespaceURI,c3=o3=null,u3.props&&u3.props.__P!=t5&&(u3.__k.some(function(n3){n3&&J(n3,n3)}),u3.__k=null),l3=u3.__k?S(u3,0):null),l3=I(t5,w(A3)?A3:[A3],r3,u3,i3,f3,o3,e3,l3,c3,a3),M.__P&&(r3.__e=null,l3=s3),r3.__u&=-161,p3&&p3.some(g),d3.__h.length&&e3.push(d3),1&d3.__g&&(d3.__g&=-4)}catch(t6){if(e3.length=v3,r3.__v=null,c3||o3)if(t6&&t6.then){if(r3.__u|=128|c3,o3){for(~(T3=o3.indexOf(l3||void 0))||(T3=o3.length);(N2=o3[T3-1])&&N2.nodeType==8;)T3--;for(;T3<o3.length;T3++)if(N2=o3[T3])if(o3[T3]=null,O){if(N2==P2)break}else{if(N2.nodeType!=8)break;N2.data.startsWith("$s")&&(P2=B(O=N2))}}if(!O){for(;l3&&l3.nodeType==8&&l3.nextSibling;)l3=l3.nextSibling;O=l3}(s3=B(O=r3.__c.__z||(r3.__c.__z=O)))?(r3.__e=O,l3=s3):r3.__e=l3,l3=l3&&l3.nextSibling}else o3&&o3.some(g);else r3.__e=u3.__e;r3.__k||(r3.__k=u3.__k||[]),t6&&t6.then||D(r3),n.__e(t6,r3,u3)}}else l3=r3.__e=F(u3.__e,r3,u3,i3,f3,o3,e3,c3,a3,t5);return(s3=n.diffed)&&s3(r3),l3}function B(n3,t5){if(n3&&n3.nodeType==8&&n3.data.startsWith("$s"))for(var r3=1;n3=n3.nextSibling;){if(n3.nodeType==8){if(n3.data.startsWith("$s"))r3++;else if(n3.data.startsWith("/$s")&&!--r3)return n3}t5&&t5.push(n3)}}function D(n3){n3&&(n3.__c&&(n3.__c.__g|=4),n3.__k&&n3.__k.some(D))}function E(t5,r3,u3){for(var i3=0;i3<u3.length;)G(u3[i3++],u3[i3++],u3[i3++]);n.__c&&n.__c(r3,t5),t5.some(function(r4){try{t5=r4.__h,r4.__h=[],t5.some(function(n3){n3.call(r4)})}catch(t6){n.__e(t6,r4.__v)}})}function F(t5,r3,u3,i3,f3,o3,e3,l3,c3,a3){var s3,h3,y3,_3,k3,b2,m3,M,$2=u3.props||p,x2=r3.props,C3=r3.type;if(C3=="svg"?f3="http://www.w3.org/2000/svg":C3=="math"?f3="http://www.w3.org/1998/Math/MathML":f3||(f3="http://www.w3.org/1999/xhtml"),o3){for(s3=0;s3<o3.length;s3++)if((k3=o3[s3])&&(C3?k3.localName==C3:k3.nodeType==3)){t5=k3,o3[s3]=null;break}}if(!t5){if(M=a3.ownerDocument||document,!C3)return M.createTextNode(x2);t5=M.createElementNS(f3,C3,x2.is?x2:a3),l3&&(n.__m&&n.__m(r3,o3),l3=!1),o3=null}if(C3){if(a3=C3=="template"&&t5.content||t5,o3=C3=="textarea"&&x2.defaultValue!=null?null:o3&&d.call(a3.childNodes),!l3&&o3)for($2={},s3=0;s3<t5.attributes.length;s3++)$2[(k3=t5.attributes[s3]).name]=k3.value;for(s3 in $2)k3=$2[s3],s3=="dangerouslySetInnerHTML"?y3=k3:s3=="children"||s3 in x2||s3=="value"&&"defaultValue"in x2||s3=="checked"&&"defaultChecked"in x2||N(t5,s3,null,k3,f3);for(s3 in x2)k3=x2[s3],s3=="children"?_3=k3:s3=="dangerouslySetInnerHTML"?h3=k3:s3=="value"?b2=k3:s3=="checked"?m3=k3:l3&&typeof k3!="function"||$2[s3]===k3||N(t5,s3,k3,$2[s3],f3);h3?(l3||y3&&(h3.__html==y3.__html||h3.__html==t5.innerHTML)||(t5.innerHTML=h3.__html),r3.__k=[]):(y3&&(t5.textContent=""),(C3=="foreignObject"||f3=="http://www.w3.org/1998/Math/MathML"&&v.test(C3))&&(f3="http://www.w3.org/1999/xhtml"),I(a3,w(_3)?_3:[_3],r3,u3,i3,f3,o3,e3,o3?o3[0]:u3.__k&&S(u3,0),l3,c3),o3&&o3.some(g)),l3&&C3!="textarea"||(s3="value",C3=="progress"&&b2==null?t5.removeAttribute(s3):b2==null||b2===t5[s3]&&(C3!="progress"||b2)||N(t5,s3,b2,$2[s3],f3),s3="checked",m3!=null&&m3!=t5[s3]&&N(t5,s3,m3,$2[s3],f3))}else $2===x2||l3&&t5.data==x2||(t5.data=x2);return t5}function G(t5,r3,u3,i3){try{typeof t5=="function"?r3?r3.__x=t5(r3)||1:i3&&(i3=i3.__c||i3.__e)&&(r3=i3.__x)&&(i3.__x=null,typeof r3=="function"?r3():t5(null)):t5.current=r3}catch(t6){n.__e(t6,u3)}}function J(t5,r3,u3){var i3,f3,o3,e3;if(n.unmount&&n.unmount(t5),!(i3=t5.ref)||i3.current&&i3.current!=t5.__e||G(i3,null,r3,t5),i3=t5.__c){if(i3.componentWillUnmount)try{i3.componentWillUnmount()}catch(t6){n.__e(t6,r3)}i3.__P=i3.__n=null}if(i3=t5.__k)for(e3=0;e3<i3.length;e3++)i3[e3]&&J(i3[e3],r3,typeof t5.type!="function"||u3&&!t5.props.__P);!u3&&(i3=t5.__c)&&(i3=i3.__z)&&(f3=B(i3,o3=[]))&&(i3==t5.__e&&o3.some(g),g(f3),g(i3)),u3||g(t5.__e),t5.__e=t5.__c=t5.__=null}function K(n3,t5,r3){return this.constructor(n3,r3)}function Q(t5,r3){var u3,i3,f3,o3;n.__&&n.__(t5,r3),r3.nodeType==9&&(r3=r3.documentElement),i3=(u3=t5&&32&t5.__u)?null:r3.__k,r3.__k=m($,{children:[t5]}),f3=[],o3=[],z(r3,r3.__k,i3||p,p,r3.namespaceURI,i3?null:r3.firstChild?d.call(r3.childNodes):null,f3,i3?i3.__e:r3.firstChild,u3,o3),E(f3,r3.__k,o3),r3.__k.props.children=null}n={__e:function(n3,t5,r3,u3){for(var i3,o3,e3;t5=t5.__;)if((i3=t5.__c)&&!(1&i3.__g)){i3.__g|=4;try{if((e3=(o3=i3.constructor)&&o3.getDerivedStateFromError)&&i3.setState(o3.getDerivedStateFromError(n3)),i3.componentDidCatch&&(i3.componentDidCatch(n3,u3||{}),e3=1),e3&&8&i3.__g)return void(i3.__g|=2)}catch(t6){n3=t6}}throw f=0,n3}},t=0,r=function(n3){return n3!=null&&n3.constructor===h},x.prototype.setState=function(n3,t5){var r3=this.__s;r3&&r3!=this.state||(r3=this.__s=_({},this.state)),typeof n3=="function"&&(n3=n3(_({},r3),this.props)),n3&&(_(r3,n3),this.__v&&(t5&&this.__k.push(t5),L(this)))},x.prototype.forceUpdate=function(n3){this.__v&&(this.__g|=4,n3&&this.__h.push(n3),L(this))},x.prototype.render=$,u=[],f=0,o=function(n3,t5){return n3.__v.__b-t5.__v.__b},e=Symbol(),l=/(PointerCapture)$|Capture$/i,c=0,a={},s=0;var n2=function(t5,s3,r3,e3){var u3;s3[0]=0;for(var h3=1;h3<s3.length;h3++){var p3=s3[h3++],a3=s3[h3]?(s3[0]|=p3?1:2,r3[s3[h3++]]):s3[++h3];p3===3?e3[0]=a3:p3===4?e3[1]=Object.assign(e3[1]||{},a3):p3===5?(e3[1]=e3[1]||{})[s3[++h3]]=a3:p3===6?e3[1][s3[++h3]]+=a3+"":p3?(u3=t5.apply(a3,n2(t5,a3,r3,["",null])),e3.push(u3),a3[0]?s3[0]|=2:(s3[h3-2]=0,s3[h3]=u3)):e3.push(a3)}return e3},t2=new Map;function htm_default(s3){var r3=t2.get(this);return r3||(r3=new Map,t2.set(this,r3)),(r3=n2(this,r3.get(s3)||(r3.set(s3,r3=(function(n3){for(var t5,s4,r4=1,e3="",u3="",h3=[0],p3=function(n4){r4===1&&(n4||(e3=e3.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?h3.push(0,n4,e3):r4===3&&(n4||e3)?(h3.push(3,n4,e3),r4=2):r4===2&&e3==="..."&&n4?h3.push(4,n4,0):r4===2&&e3&&!n4?h3.push(5,0,!0,e3):r4>=5&&((e3||!n4&&r4===5)&&(h3.push(r4,0,e3,s4),r4=6),n4&&(h3.push(r4,n4,0,s4),r4=6)),e3=""},a3=0;a3<n3.length;a3++){a3&&(r4===1&&p3(),p3(a3));for(var l3=0;l3<n3[a3].length;l3++)t5=n3[a3][l3],r4===1?t5==="<"?(p3(),h3=[h3],r4=3):e3+=t5:r4===4?e3==="--"&&t5===">"?(r4=1,e3=""):e3=t5+e3[0]:u3?t5===u3?u3="":e3+=t5:t5==='"'||t5==="'"?u3=t5:t5===">"?(p3(),r4=1):r4&&(t5==="="?(r4=5,s4=e3,e3=""):t5==="/"&&(r4<5||n3[a3][l3+1]===">")?(p3(),r4===3&&(h3=h3[0]),r4=h3,(h3=h3[0]).push(2,0,r4),r4=0):t5===" "||t5==="	"||t5===`
`||t5==="\r"?(p3(),r4=2):e3+=t5),r4===3&&e3==="!--"&&(r4=4,h3=h3[0])}return p3(),h3})(s3)),r3),arguments,[])).length>1?r3:r3[0]}var t3,r2,u2,i2,o2=Object.is,f2=0,c2=[],e2=[],a2=n,v2=a2.__b,l2=a2.__r,m2=a2.diffed,h2=a2.__c,s2=a2.unmount,p2=a2.__;function y2(n3,t5){a2.__h&&a2.__h(r2,n3,f2||t5),f2=0;var u3=r2.__H||(r2.__H={__:[],__h:[]});return n3>=u3.__.length&&u3.__.push({}),u3.__[n3]}function d2(n3){return f2=1,_2(G2,n3)}function _2(n3,u3,i3){var f3=y2(t3++,2);if(f3.t=n3,!f3.__c&&(f3.__=[i3?i3(u3):G2(void 0,u3),function(n4){var t5=(f3.__N||f3.__)[0],r3=f3.t(t5,n4);o2(t5,r3)||(f3.__N=[r3,f3.__[1]],f3.__c.setState({}))}],f3.__c=r2,!r2.__f)){r2.__f=!0;var c3=r2.shouldComponentUpdate;r2.shouldComponentUpdate=function(n4,t5,r3){var u4=this.__H;if(!u4)return!0;var i4=!1,f4=this.props!=n4;if(u4.__.some(function(n5){n5.__N&&(i4=!0,o2(n5.__[0],n5.__N[0])||(f4=!0))}),c3){var e3=c3.call(this,n4,t5,r3);return i4?e3||f4:e3}return!i4||f4}}return f3.__}function A2(n3,u3){var i3=y2(t3++,3);!a2.__s&&E2(i3.__H,u3)&&(i3.__P=!0,i3.__=n3,i3.u=u3,r2.__H.__h.push(i3))}function F2(n3,u3){var i3=y2(t3++,4);!a2.__s&&E2(i3.__H,u3)&&(i3.__P=!1,i3.__=n3,i3.u=u3,r2.__h.push(i3))}function T2(n3){return f2=5,w2(function(){return{current:n3}},[])}function w2(n3,r3){var u3=y2(t3++,7);return E2(u3.__H,r3)&&(u3.__=n3(),u3.__H=r3),u3.__}function b(n3,t5){return f2=8,w2(function(){return n3},t5)}function g2(){var n3;do{for(;n3=e2.shift();)try{C2(n3)}catch(t6){a2.__e(t6,{__:(n3=n3.__P)&&n3.__v})}for(;n3=c2.shift();){var t5=n3.__H;if(n3.__P&&t5)try{t5.__h.some(C2),t5.__h.some(D2),t5.__h=[]}catch(r3){t5.__h=[],a2.__e(r3,n3.__v)}}}while(e2.length)}a2.__b=function(n3){r2=null,v2&&v2(n3)},a2.__=function(n3,t5){n3&&t5.__k&&t5.__k.__m&&(n3.__m=t5.__k.__m),p2&&p2(n3,t5)},a2.__r=function(n3){l2&&l2(n3),t3=0;var i3=(r2=n3.__c).__H;i3&&(u2==r2?r2.__h=[]:(i3.__h.some(C2),i3.__h.some(D2),t3=0),i3.__h=[],i3.__.some(function(n4){n4.__N&&(n4.__=n4.__N),n4.u=n4.__N=void 0})),u2=r2},a2.diffed=function(n3){m2&&m2(n3);var t5=n3.__c;t5&&t5.__H&&(t5.__H.__h.length&&B2(c2.push(t5)),t5.__H.__.some(function(n4){n4.u&&(n4.__H=n4.u)})),u2=r2=null},a2.__c=function(n3,t5){t5.some(function(n4){try{n4.__h.some(C2),n4.__h=n4.__h.filter(function(n5){return!n5.__||D2(n5)})}catch(t6){n4.__h=[function(){throw t6}]}}),h2&&h2(n3,t5)},a2.unmount=function(n3){s2&&s2(n3);var t5,r3,u3=n3.__c;u3&&u3.__H&&(u3.__H.__.some(function(u4){try{if(u4.__P&&u4.__c){if(r3===void 0){for(r3=n3.__;r3&&(!r3.__c||!r3.__c.__P);)r3=r3.__;r3=r3&&r3.__c}u4.__P=r3,B2(e2.push(u4))}else C2(u4)}catch(n4){t5=n4}}),u3.__H=void 0,t5&&a2.__e(t5,u3.__v))};var k2=typeof requestAnimationFrame=="function";function z2(n3){var t5,r3=function(){clearTimeout(u3),k2&&cancelAnimationFrame(t5),setTimeout(n3)},u3=setTimeout(r3,35);k2&&(t5=requestAnimationFrame(r3))}function B2(n3){n3!=1&&i2==a2.requestAnimationFrame||((i2=a2.requestAnimationFrame)||z2)(g2)}function C2(n3){var t5=r2,u3=n3.__c;typeof u3=="function"&&(n3.__c=void 0,u3()),r2=t5}function D2(n3){var t5=r2;n3.__c=n3.__(),r2=t5}function E2(n3,t5){return!n3||n3.length!=t5.length||t5.some(function(t6,r3){return!o2(t6,n3[r3])})}function G2(n3,t5){return typeof t5=="function"?t5(n3):t5}var html=htm_default.bind(k),cls=(...names)=>names.filter(Boolean).join(" ");var listeners=new Set;function here(){let[view="",id="",tab2=""]=location.pathname.split("/").slice(1).map(decoded);return{view:view||"overview",id,tab:tab2,query:new URLSearchParams(location.search)}}function decoded(part){try{return decodeURIComponent(part)}catch{return part}}function address(view,id="",query2={},tab2=""){let path=[view,id,tab2].filter(Boolean).map(encodeURIComponent).join("/"),search=new URLSearchParams(Object.entries(query2).filter(([,v3])=>v3!==""&&v3!==null&&v3!==void 0)).toString();return"/"+path+(search&&"?"+search)}function go(to,{replace=!1}={}){to!==location.pathname+location.search&&(history[replace?"replaceState":"pushState"](null,"",to),told())}function change(values,{replace=!0}={}){let at=here();go(address(at.view,at.id,{...Object.fromEntries(at.query),...values},at.tab),{replace})}function told(){for(let l3 of listeners)l3()}function useAddress(){let[,draw2]=_2(n3=>n3+1,0);return A2(()=>(listeners.add(draw2),()=>listeners.delete(draw2)),[]),here()}function startRouter(){addEventListener("popstate",told),document.addEventListener("click",e3=>{let link=e3.target.closest?.("a[href]");!link||e3.defaultPrevented||e3.button!==0||e3.metaKey||e3.ctrlKey||e3.shiftKey||e3.altKey||link.target||link.hasAttribute("download")||link.origin!==location.origin||link.getAttribute("href").startsWith("#")||(e3.preventDefault(),go(link.pathname+link.search))})}var place2="sluice.keys",lettersOn=()=>localStorage.getItem(place2)!=="off",setLetters=on=>on?localStorage.removeItem(place2):localStorage.setItem(place2,"off"),handlers={},after="",waiting=0;function current(what){return handlers=what,()=>{handlers===what&&(handlers={})}}var goLetters={o:"overview",i:"inbox",c:"conversations",r:"runs",d:"deliveries",p:"policy",e:"people",u:"audit",a:"agents",j:"automation",l:"alerts",m:"memory",f:"config",g:"logs",t:"costs",k:"access",s:"skills",w:"why"},letters={j:"down",k:"up",ArrowDown:"down",ArrowUp:"up",Enter:"open"," ":"peek",x:"select","/":"filter",f:"find",w:"why",y:"link",Escape:"close"},writes=n3=>n3.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable=true]");function startKeys({views:views2,find,help,regions}){document.addEventListener("keydown",e3=>{if(e3.isComposing||e3.defaultPrevented)return;if((e3.ctrlKey||e3.metaKey)&&!e3.altKey&&e3.key.toLowerCase()==="k")return e3.preventDefault(),find();if(e3.ctrlKey&&e3.key==="F6")return e3.preventDefault(),regions(e3.shiftKey?-1:1);if(e3.ctrlKey||e3.metaKey||e3.altKey||document.querySelector("dialog[open]"))return;if(writes(e3.target))return void(e3.key==="Escape"&&e3.target.closest("#filters")&&e3.target.blur());let action=letters[e3.key],always=e3.key.startsWith("Arrow")||e3.key==="Enter"||e3.key==="Escape"||e3.key===" ";if(!(!always&&!lettersOn())&&!(always&&e3.key!=="Escape"&&e3.target.closest("a, button, input, summary, [role=tab], .peek-body, pre, .chat-log"))){if(after==="g"){after="",clearTimeout(waiting);let view=goLetters[e3.key];return!view||!views2().includes(view)?void 0:(e3.preventDefault(),go(address(view)))}if(e3.key==="g"){after="g",waiting=setTimeout(()=>{after=""},3e3);return}if(e3.key==="?")return help();!action||!handlers[action]||(e3.preventDefault(),handlers[action]())}})}var channel="BroadcastChannel"in globalThis?new BroadcastChannel("sluice.stream"):null,tab=Math.random().toString(36).slice(2),readers=new Set,watchers=new Set,wanted=new Map,connected=null,leading=!1,last="",reading=new AbortController;function listen(on){return readers.add(on),()=>readers.delete(on)}function watch(on){return watchers.add(on),()=>watchers.delete(on)}function onChange(kinds,on){return listen((e3,name)=>{(name==="hello"&&!e3.resumed||name==="changed"&&e3.kinds.some(k3=>kinds.includes(k3)))&&on()})}function tell(event,name){if(name==="state"){connected=event.connected;for(let w3 of watchers)w3(connected,event.failures??0);return}for(let r3 of readers)r3(event,name)}function share(event,name){tell(event,name),channel?.postMessage({event,name})}function heard({data}){if(data.name)return tell(data.event,data.name);data.ask&&leading&&channel.postMessage({event:{connected},name:"state"}),data.ask&&announce(),data.shows&&want(data.tab,data.shows)}var mine=[],announce=()=>channel?.postMessage({tab,shows:mine});function want(who,shows){let before=asked2();shows.length?wanted.set(who,shows):wanted.delete(who),leading&&asked2()!==before&&reading.abort("again")}var asked2=()=>[...new Set([...wanted.values()].flat())].slice(-20).sort().join(",");function show(id){return mine.push(id),want(tab,[...mine]),announce(),()=>{mine.splice(mine.indexOf(id),1),want(tab,[...mine]),announce()}}function startLive(){channel?.addEventListener("message",heard),addEventListener("pagehide",()=>channel?.postMessage({tab,shows:[]})),navigator.locks&&channel?(navigator.locks.request("sluice.stream",read2),channel.postMessage({ask:!0})):read2()}var pause=ms=>new Promise(done=>setTimeout(done,ms));async function read2(){leading=!0;let alone=!navigator.locks;for(let failures=0;;failures++){for(;alone&&document.hidden;)await new Promise(done=>document.addEventListener("visibilitychange",done,{once:!0}));reading=new AbortController;let current2=reading,silence=0,beat=()=>{clearTimeout(silence),silence=setTimeout(()=>current2.abort(),6e4)},hide2=()=>alone&&document.hidden&&current2.abort();document.addEventListener("visibilitychange",hide2);try{beat();let shows=asked2(),answer=await call("/v1/stream"+(shows&&"?sessions="+encodeURIComponent(shows)),{headers:{Accept:"text/event-stream",...last?{"Last-Event-ID":last}:{}},signal:current2.signal});failures=0,share({connected:!0},"state"),await events(answer,(event,id,name)=>{id&&(last=id),failures=0,name==="bye"&&event.reason==="renew"&&current2.abort("again"),share(event,name)},beat)}catch(problem){problem instanceof Refused&&problem.status===400&&(last="")}clearTimeout(silence),document.removeEventListener("visibilitychange",hide2);let again=current2.signal.reason==="again";if(current2.abort(),again){failures=-1;continue}share({connected:!1,failures},"state"),await pause(Math.min(500*2**failures,8e3))}}function followSession(name,on){let id="",unshow=()=>{},closed=!1,timer=0,running=null,missed=!1,soon=ms=>{clearTimeout(timer),timer=setTimeout(resolve,ms)},stale=!0,resolve=()=>(missed=running!==null,running??=(async()=>{try{let record=await json("/v1/sessions/"+encodeURIComponent(name));if(closed)return;record.id!==id&&(unshow(),id=record.id,unshow=show(id),stale=!0),stale&&connected!==!1&&(stale=!1,await on.opened(record))}catch(problem){if(closed)return;if(stale=!0,problem instanceof Refused&&problem.status===404)return on.hidden();on.away(0),soon(1e3)}finally{running=null,missed&&!closed&&soon(0)}})()),stops=[listen((e3,kind)=>{kind==="session"&&e3.session===id?on.event(e3):kind==="hello"?(stale||=!e3.resumed,soon(0)):kind==="changed"&&e3.kinds.includes("runs")&&soon(300)}),watch((is,failures)=>{is||(stale=!0,on.away(failures))})];return resolve(),{again:()=>(stale=!0,resolve()),look:()=>soon(0),close:()=>{closed=!0,clearTimeout(timer),unshow();for(let stop of stops)stop()}}}var languages=["en","de"],place3="sluice.language",words={},plural=null,language="en";async function load(){language=[localStorage.getItem(place3),...navigator.languages.map(l3=>l3.slice(0,2))].find(l3=>languages.includes(l3))??"en",words=(await import(`/text/${language}.js`)).default,plural=new Intl.PluralRules(language),document.documentElement.lang=language}var languagesKnown=languages;async function choose(code){localStorage.setItem(place3,code),await load()}function t4(key,values={}){let text=values.n!==void 0&&words[key+"#"+plural.select(values.n)]||words[key];return text===void 0?key:text.replace(/\{(\w+)\}/g,(_3,name)=>typeof values[name]=="number"?number(values[name]):values[name]??"")}var known=(prefix,word)=>words[prefix+"."+word]??word;function writer(Format,options){let made=null,of2="";return value=>(of2!==language&&([made,of2]=[new Format(language,options),language]),made.format(value))}function number(value,decimals=3){let[whole,rest]=String(Number(Number(value).toFixed(decimals))).split(".");return whole.replace(/\B(?=(\d{3})+$)/g,words["number.thousands"])+(rest?words["number.decimals"]+rest:"")}function span(ms){let s3=Math.abs(ms)/1e3;return s3<1?t4("time.ms",{n:Math.round(s3*1e3)}):s3<60?t4("time.s",{v:s3<10?number(s3,1):String(Math.round(s3))}):s3<3600?Math.floor(s3/60)+":"+String(Math.floor(s3%60)).padStart(2,"0"):s3<86400?t4("time.h",{v:Math.floor(s3/3600)}):t4("time.d",{v:Math.floor(s3/86400)})}function age(ms){let s3=Math.max(0,ms)/1e3;return s3<5?t4("time.now"):s3<60?t4("time.s",{v:Math.floor(s3)}):s3<3600?t4("time.min",{v:Math.floor(s3/60)}):s3<86400?t4("time.h",{v:Math.floor(s3/3600)}):t4("time.d",{v:Math.floor(s3/86400)})}function time(options){let write=writer(Intl.DateTimeFormat,options);return at=>{let date2=new Date(at);return Number.isNaN(date2.getTime())?"":write(date2)}}var exact=time({year:"numeric",month:"short",day:"numeric",hour:"2-digit",minute:"2-digit",second:"2-digit",timeZoneName:"short"}),clock=time({hour:"2-digit",minute:"2-digit",second:"2-digit"}),minute=time({hour:"2-digit",minute:"2-digit"}),day=time({weekday:"long",day:"numeric",month:"long"}),date=time({month:"short",day:"numeric"});function local(at){let date2=new Date(at),ms=date2.getTime()-date2.getTimezoneOffset()*6e4;return Number.isNaN(ms)?"":new Date(ms).toISOString().slice(0,16)}function bytes(n3){if(n3<1024)return number(n3)+" B";let[v3,unit]=n3<1048576?[n3/1024,"kB"]:[n3/1048576,"MB"];return number(v3,v3<10?1:0)+" "+unit}var count=c3=>typeof c3=="number"?number(c3):number(c3.count)+(c3.more?"+":""),hidden=/[\p{Cc}\p{Cf}\p{Co}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu,visible=text=>String(text).replace(hidden,c3=>c3===`
`||c3==="	"?c3:"\\u{"+c3.codePointAt(0).toString(16)+"}"),uuid=/^[0-9a-f-]{28}([0-9a-f]{8})$/;function sessionName(key,place4=""){let[,agent,rest]=/^(?:agent:([^:]+):)?(.*)$/s.exec(key);if(agent&&!rest.includes(":"))return t4("conversations.main");let named=(kind,of2)=>t4("session."+kind,{of:visible(of2.replace(uuid,"$1"))}),group=agent&&/^[^:]+:(group|channel):(.+?)(?::(?:thread|topic):(.+))?$/s.exec(rest);if(group)return(visible(place4)||named(group[1],group[2]))+(group[3]?" › "+visible(group[3]):"");let direct=agent&&/^(?:[^:]+:){0,2}direct:(.+)$/s.exec(rest);if(direct)return named("direct",direct[1]);let other=agent?/^(subagent|http):(.+)$/s.exec(rest):/^(cron|hook|node)[:-](.+)$/s.exec(rest);return other?named(other[1],other[2]):visible(rest)}var paths={overview:"M3 11h5V3H3zM12 17h5v-7h-5zM3 17h5v-3H3zM12 7h5V3h-5z",inbox:"M3 11l2.5-7h9L17 11v5H3zM3 11h4l1 2h4l1-2h4",conversations:"M3 4h14v9H9l-4 3.5V13H3z",runs:"M6 4l9 6-9 6z",deliveries:"M17 3L9 11M17 3l-5 14-3-6-6-3z",policy:"M10 3l6 2v5c0 3.5-2.5 6-6 7-3.5-1-6-3.5-6-7V5zM7.5 10l2 2 3.5-4",people:"M7.5 9a2.7 2.7 0 100-5.4 2.7 2.7 0 000 5.4zM2.5 16c0-3 2.2-4.7 5-4.7s5 1.7 5 4.7M13 4a2.6 2.6 0 010 5M14.5 11.5c2 .5 3 2.2 3 4.5",audit:"M5 3h7l3 3v11H5zM12 3v3h3M7.5 9.5h5M7.5 12.5h5",agents:"M5 7h10v8H5zM10 7V4M8 10.5v1M12 10.5v1M3 10v2M17 10v2",skills:"M4 5h5.5v11H4zM9.5 5H16v11H9.5M12 8h2M12 11h2",automation:"M10 17a7 7 0 100-14 7 7 0 000 14zM10 6v4l2.7 1.7",alerts:"M5 14V9.5C5 6.5 7 4.5 10 4.5s5 2 5 5V14l1 1H4zM8.5 17h3",memory:"M10 5.5C8.5 4 6 4 4 4.5v11c2-.5 4.5-.5 6 1 1.5-1.5 4-1.5 6-1v-11C14 4 11.5 4 10 5.5zM10 5.5v11",config:"M4 6h6M14 6h2M4 14h2M10 14h6M12 4v4M8 12v4M4 10h12",logs:"M4 5h12M4 8.5h8M4 12h12M4 15.5h6",costs:"M4 16V9M8 16V5M12 16v-6M16 16V7",access:"M7 13a3.5 3.5 0 110-7 3.5 3.5 0 010 7zM10.5 9.5H17V12M14 9.5V12",why:"M7.5 7.5a2.5 2.5 0 113.6 2.3c-.8.4-1.1.9-1.1 1.7v.5M10 15v.3",search:"M9 14.5a5.5 5.5 0 100-11 5.5 5.5 0 000 11zM13 13l4 4",more:"M5 10h.01M10 10h.01M15 10h.01",close:"M5 5l10 10M15 5L5 15",back:"M12 4l-6 6 6 6",next:"M8 4l6 6-6 6",send:"M10 16V5M5 9.5L10 4.5l5 5",stop:"M6 6h8v8H6z",file:"M13.5 8L8 13.5a2 2 0 01-3-3L11 4.5a3.2 3.2 0 014.6 4.6L9.5 15.3",mic:"M10 12a2.3 2.3 0 002.3-2.3V5.8a2.3 2.3 0 00-4.6 0v3.9A2.3 2.3 0 0010 12zM5.5 9.5a4.5 4.5 0 009 0M10 14v3",edit:"M4 16l.7-3L13 4.7l2.3 2.3L7 15.3z",retry:"M15.5 8A6 6 0 105 13.5M15.5 3.5V8H11",copy:"M7 7h9v9H7zM13 7V4H4v9h3",done:"M4 10.5l4 4 8-9",link:"M8.5 11.5l3-3M9 6l1.5-1.5a3 3 0 014.5 4.5L13.5 10.5M11 14l-1.5 1.5A3 3 0 015 11L6.5 9.5",settings:"M4 6h12M4 10h12M4 14h12",filter:"M3 5h14l-5.5 6v4.5l-3 1.5v-6z",branch:"M6 4v12M6 13c0-3 8-2 8-6M14 7V4M4.5 4h3M12.5 4h3",pause:"M7 5v10M13 5v10"},Icon=({name,size=18})=>html`
  <svg
    class="icon"
    width=${size}
    height=${size}
    viewBox="0 0 20 20"
    fill="none"
    stroke="currentColor"
    stroke-width="1.6"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <path d=${paths[name]??paths.more} />
  </svg>
`,tones={good:["sent","done","ok","ready","connected","allowed","used","approved","active","resolved","hears","allow","yes","paired","announced","current"],busy:["preview","queued","sending","running","busy","waiting","delivering","asking","replying","announcing","standby","connecting"],warn:["held","pending","unknown","retrying","hold","warning","acknowledged","faulty","waits","ask","missed","summed"],bad:["failed","expired","timeout","deaf","down","error","critical","firing","undelivered","no","revoked","disconnected"],rule:["blocked","denied","redacted","block","deny","redact","withheld","filtered","stopped"]},toneOf=Object.fromEntries(Object.entries(tones).flatMap(([tone,words2])=>words2.map(w3=>[w3,tone]))),marks={good:"✓",busy:"↻",warn:"!",bad:"✕",rule:"⊘",rest:"–"},toneFor=status=>toneOf[status]??"rest";function Chip({status,tone=toneFor(status),text=known("status",status)}){return html`
    <span class=${"chip "+tone} data-status=${status}>
      <span class="mark" aria-hidden="true">
        ${marks[tone]??marks.rest}
      </span>
      ${text}
    </span>
  `}var levels=["PUBLIC","INTERNAL","CONFIDENTIAL","RESTRICTED"],levelOf=label=>String(label??"").split("/")[0],untrusted=label=>String(label??"").endsWith("/untrusted");function Level({label,short=!1}){let level=levelOf(label),n3=levels.indexOf(level)+1;if(!n3)return null;let name=known("level",level)+(untrusted(label)?", "+t4("level.untrusted"):"");return html`
    <span class=${cls("level","l"+n3,untrusted(label)&&"untrusted")} title=${name}>
      <span class="bars" aria-hidden="true">
        ${levels.map((_3,i3)=>html`
          <i class=${i3<n3?"on":""}></i>
        `)}
      </span>
      <span class=${short?"unseen":""}>${name}</span>
    </span>
  `}function useTick(every){let[,draw2]=_2(n3=>n3+1,0);A2(()=>{let timer=setInterval(draw2,every);return()=>clearInterval(timer)},[every])}function Moment({at,children}){let node=T2(null);A2(()=>{node.current.closest("a, button, summary, .row")||(node.current.tabIndex=0)},[]);let date2=new Date(at);return html`
    <time ref=${node} class="moment" dateTime=${Number.isNaN(date2.getTime())?"":date2.toISOString()}>${children}</time>
  `}function Age({at}){let then=Date.parse(at);if(useTick(Date.now()-then<12e4?5e3:6e4),!at||Number.isNaN(then))return null;let coming=then-Date.now()>1e3;return html`
    <${Moment} at=${then}>
      ${coming?t4("time.in",{v:span(then-Date.now())}):age(Date.now()-then)}
    <//>
  `}var When=({at})=>at?html`
    <time dateTime=${at}>${exact(at)}</time>${" "}
    <span class="soft">
      (<${Age} at=${at} />)
    </span>
  `:null;function Left({until}){useTick(1e3);let left=Date.parse(until)-Date.now();return html`
    <span class="left">
      <${Moment} at=${until}>${left>0?span(left):t4("time.over")}<//>
    </span>
  `}var Options=({of:of2,chosen,name=one=>one})=>of2.map(one=>html`
    <option value=${one} selected=${one===chosen}>
      ${name(one)}
    </option>
  `),Pager=({from,size,of:of2,turn})=>of2>size&&html`
    <div class="acts">
      <button type="button" class="small" disabled=${from===0} onClick=${()=>turn(from-size)}>
        ${t4("list.before")}
      </button>
      <span class="soft" role="status">
        ${t4("list.page",{from:number(from+1),to:number(Math.min(from+size,of2)),n:number(of2)})}
      </span>
      <button type="button" class="small" disabled=${from+size>=of2} onClick=${()=>turn(from+size)}>
        ${t4("list.after")}
      </button>
    </div>
  `;function Unfold({part,text,children}){let[open,set]=d2(!1);return html`
    <details data-part=${part} onToggle=${e3=>set(e3.target.open)}>
      <summary>${text}</summary>
      ${open&&children()}
    </details>
  `}var Sheet=({label=t4("part.table"),heads,acts:buttons,children})=>html`
  <div class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead>
        <tr>
          ${heads.map(head=>{let[text,of2]=[].concat(head);return html`<th scope="col" class=${of2}>${text}</th>`})}
          ${buttons&&html`
            <th scope="col">
              <span class="unseen">${t4("part.actions")}</span>
            </th>
          `}
        </tr>
      </thead>
      <tbody>
        ${children}
      </tbody>
    </table>
  </div>
`,Field=({text,hint,children})=>html`
  <label class="field">
    <span>${text}</span>
    ${children}
    ${hint&&html`<small>${hint}</small>`}
  </label>
`,Facts=({of:of2})=>html`
  <dl class="facts">
    ${of2.filter(([,v3])=>v3!=null&&v3!==""&&v3!==!1).map(([name,value])=>html`
        <div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>
      `)}
  </dl>
`,cutAt=4e3,blockSize=65536;function blocks(text){let all=[];for(let from=0;from<text.length;){let line=text.lastIndexOf(`
`,from+blockSize),to=line>from?line+1:from+blockSize;all.push(text.slice(from,to)),from=to}return all}function Text({text,code=!1,label=""}){let[whole,show2]=d2(!1),all=String(text??""),shown2=whole||all.length<=cutAt?all:all.slice(0,cutAt),parts=shown2.length>2*blockSize?blocks(shown2).map(b2=>html`<span class="block">${visible(b2)}</span>`):visible(shown2);return html`
    <div class="text">
      <pre class=${code?"code":"plain"} tabindex="0" role="region" aria-label=${label||t4("part.text")}>
        ${parts}
        ${shown2.length<all.length&&"…"}
      </pre>
      ${shown2.length<all.length&&html`
        <button type="button" class="small" onClick=${()=>show2(!0)}>
          ${t4("part.all",{n:all.length})}
        </button>
      `}
    </div>
  `}var Tabs=({view,names,current:current2})=>html`
  <nav class="tabs" aria-label=${t4("view."+view)}>
    ${Object.entries(names).map(([part,name],i3)=>html`
      <a href=${address(view,"",i3===0?{}:{part})} aria-current=${part===current2?"page":void 0}>
        ${name}
      </a>
    `)}
  </nav>
`,Value=({of:of2,label})=>html`
  <${Text} code text=${typeof of2=="string"?of2:JSON.stringify(of2,null,2)} label=${label??t4("part.value")} />
`;function Copy({text,label=t4("part.copy")}){let[done,set]=d2(!1);return html`
    <button
      type="button"
      class="small quiet copy"
      onClick=${async()=>{await copy(text),set(!0),setTimeout(()=>set(!1),1500)}}
    >
      <${Icon} name=${done?"done":"copy"} size="15" /> ${done?t4("part.copied"):label}
    </button>
  `}async function copy(text){try{await navigator.clipboard.writeText(text)}catch{let box=document.createElement("textarea");box.value=text,document.body.append(box),box.select(),document.execCommand("copy"),box.remove()}}var Problem=({error,retry})=>html`
  <div class="problem" role="alert">
    <p>${error?.status?error.message:t4("part.silent")}</p>
    ${retry&&html`
      <button type="button" class="small" onClick=${retry}>
        ${t4("part.retry")}
      </button>
    `}
  </div>
`,Loading=()=>html`
  <p class="loading" role="status">
    ${t4("part.loading")}
  </p>
`,focusable="a[href], button:not(:disabled), summary, input:not(:disabled)";function passFocus(button){let row=button.closest("tr, li, article"),section=button.closest("section, dialog")??document.querySelector("main"),near=[];for(let n3=row?.nextElementSibling;n3;n3=n3.nextElementSibling)near.push(n3);for(let n3=row?.previousElementSibling;n3;n3=n3.previousElementSibling)near.push(n3);let grid=button.closest(".list-view")?.querySelector("[role=grid]"),writing=button.closest("form")?.querySelector("textarea");setTimeout(()=>{if(document.activeElement&&document.activeElement!==document.body)return;let next=near.find(n3=>n3.isConnected&&n3.querySelector(focusable)),heading=section.isConnected&&section.querySelector("h1, h2, h3")||document.querySelector("main h1, main h2"),to=[next?.querySelector(focusable),grid,writing,heading].find(n3=>n3?.isConnected);to&&(to.tabIndex<0&&(to.tabIndex=-1),to.focus())})}function Act({run,done,tone="",icon,children,small=!0,title,part,disabled,allowed=acts()}){let[busy,set]=d2(!1),node=T2(null),pressed=T2(!1);if(F2(()=>()=>pressed.current&&passFocus(node.current),[]),!allowed)return null;let press=async()=>{set(!0),pressed.current=!0;try{await run()!==!1&&done&&toast(done)}catch(error){toast(error.status?error.message:t4("part.silent"),"bad")}set(!1),requestAnimationFrame(()=>document.activeElement===document.body&&node.current?.focus())};return html`
    <button
      type="button"
      ref=${node}
      class=${cls(small&&"small",tone)}
      disabled=${busy||disabled}
      onClick=${press}
      title=${title}
      data-part=${part}
    >
      ${icon&&html`<${Icon} name=${icon} size="16" />`}
      ${children}
    </button>
  `}var Order=class{made=0;taken=0;begin(){return++this.made}takes(n3){return n3<=this.taken?!1:(this.taken=n3,!0)}drop(){this.taken=this.made}};function useLoad(read3,depends){let[state,set]=d2({loading:!0}),[n3,again]=_2(v3=>v3+1,0),order=T2(null);return order.current??=new Order,F2(()=>()=>order.current.drop(),depends),F2(()=>{let mine2=order.current.begin(),take=next=>order.current.takes(mine2)&&set(next);Promise.resolve(read3()).then(value=>take({value}),error=>take(s3=>({value:s3.value,error})))},[...depends,n3]),{...state,again}}function Loaded({of:of2,children}){return of2.value!==void 0?children(of2.value):of2.error?html`<${Problem} error=${of2.error} retry=${of2.again} />`:html`<${Loading} />`}var routeName=r3=>r3?visible(r3.title||r3.conversation||r3.channel):"",Place=({of:of2})=>of2?.channel?html`
    <span class="place">
      <span class="channel">${of2.channel}</span> ${routeName(of2)}
      ${of2.thread&&" › "+visible(of2.thread)}
    </span>
  `:null,Parts=({of:of2})=>html`
  <ul class="lines">
    ${of2.map(p3=>html`
      <li>
        <${Chip} status=${p3.ok?"ok":p3.optional?"warning":"failed"} /> <strong>${visible(p3.name)}</strong>${" "}
        ${p3.detail&&html`<span class="soft">${visible(p3.detail)}</span>`}
      </li>
    `)}
  </ul>
`,toasts=[],lastToast=0;function toast(text,tone="good"){let one={id:++lastToast,text,tone};toasts=[...toasts.slice(-3),one],drawToasts(),tone!=="bad"&&setTimeout(()=>closeToast(one.id),5e3)}function closeToast(id){toasts=toasts.filter(one=>one.id!==id),drawToasts()}function drawToasts(){let box=document.getElementById("toasts");box||(box=document.createElement("div"),box.id="toasts",box.setAttribute("role","status"),document.body.append(box)),Q(html`
      ${toasts.map(one=>html`
        <div key=${one.id} class=${"toast "+one.tone}>
          <span>${one.text}</span>
          <button type="button" class="quiet iconic" aria-label=${t4("part.close")} onClick=${()=>closeToast(one.id)}>
            <${Icon} name="close" size="16" />
          </button>
        </div>
      `)}
    `,box)}function say(text){document.getElementById("heard").textContent=text}function Dialog({title,close,children,wide=!1,name=""}){let box=T2(null);return A2(()=>{let before=document.activeElement;return box.current.showModal(),()=>before?.isConnected&&before.focus()},[]),html`
    <dialog
      ref=${box}
      class=${wide?"wide":""}
      data-dialog=${name}
      aria-labelledby="dialog-title"
      onCancel=${e3=>{e3.preventDefault(),close()}}
      onClick=${e3=>e3.target===box.current&&close()}
    >
      <div class="dialog">
        <header>
          <h2 id="dialog-title">${title}</h2>
          <button type="button" class="quiet iconic" aria-label=${t4("part.close")} onClick=${close}>
            <${Icon} name="close" />
          </button>
        </header>
        ${children}
      </div>
    </dialog>
  `}function ask(question,effect,{detail="",danger=!1}={}){return new Promise(done=>{let box=document.createElement("div");document.body.append(box);let end=yes=>{Q(null,box),box.remove(),done(yes)};Q(html`<${Dialog} name="ask" title=${question} close=${()=>end(!1)}>
        ${detail&&html`<p>${detail}</p>`}
        <div class="acts">
          <button type="button" class=${danger?"danger solid":"main"} onClick=${()=>end(!0)}>
            ${effect}
          </button>
          <button type="button" onClick=${()=>end(!1)}>
            ${t4("part.cancel")}
          </button>
        </div>
      <//>`,box)})}var groups=[["overview","inbox"],["conversations","runs","deliveries"],["policy","people","audit","why"],["agents","skills","automation","alerts","memory"],["config","logs","costs","access"]],views=groups.flat(),onPhone=["overview","inbox","conversations","deliveries"],themePlace="sluice.theme",themes=["auto","light","dark"],theme=()=>localStorage.getItem(themePlace)??"auto";function dress(wanted2=theme()){wanted2==="auto"?localStorage.removeItem(themePlace):localStorage.setItem(themePlace,wanted2),document.documentElement.dataset.theme=wanted2}var loaded=new Map;async function ready(name){views.includes(name)&&await import(`/views/${name}.js`).then(m3=>loaded.set(name,m3.default),()=>{})}var shown={views:()=>views,find:()=>opened?.("palette"),help:()=>opened?.("keys"),regions:by=>{let all=[...document.querySelectorAll("nav.rail, main .list, main .peek, main .reading, main .page-body, #composer")].filter(n3=>n3.offsetParent),at=all.findIndex(n3=>n3.contains(document.activeElement)),to=all[(at+by+all.length)%all.length];(to?.querySelector("[tabindex='0'], a, button, input, textarea")??to)?.focus()}},opened=null;function Shell({again,known:known3}){let at=useAddress(),[open,show2]=d2("");opened=show2;let[waiting2,wait]=d2(noneWaits),[,draw2]=_2(n3=>n3+1,0);return A2(()=>watch(draw2),[]),A2(()=>{if(!known3)return;let timer=0,order=new Order,look2=()=>{clearTimeout(timer),timer=setTimeout(()=>{let mine2=order.begin();waits().then(now=>order.takes(mine2)&&wait(now),()=>{})},150)};look2();let stop=onChange(["approvals","pairings"],look2);return()=>{stop(),clearTimeout(timer)}},[known3]),A2(()=>{document.title=(waiting2.count?`(${count(waiting2)}) `:"")+(views.includes(at.view)?t4("view."+at.view)+" · ":"")+"Sluice"},[at.view,waiting2,language]),A2(()=>show2(o3=>o3==="more"?"":o3),[at.view,at.id]),html`
    <a
      class="skip"
      href="#main"
      onClick=${e3=>{e3.preventDefault(),document.getElementById("main").focus()}}
    >
      ${t4("shell.skip")}
    </a>
    <div class=${cls("shell",at.id&&"deep")}>
      <nav class="rail" aria-label=${t4("shell.views")}>
        <a class="brand" href="/overview">
          <img src="/icon.svg" alt="" width="26" height="26" />
          <span>Sluice</span>
        </a>
        <button type="button" class="find" onClick=${()=>show2("palette")} aria-keyshortcuts="Control+K">
          <${Icon} name="search" />
          <span>${t4("shell.find")}</span>
          <kbd aria-hidden="true">Ctrl K</kbd>
        </button>
        <div class="views">
          ${groups.map(g3=>html`
            <ul>
              ${g3.map(v3=>html`
                <li>
                  <${Link} view=${v3} at=${at} waiting=${v3==="inbox"?waiting2:noneWaits} />
                </li>
              `)}
            </ul>
          `)}
        </div>
        <div class="rail-foot">
          <${State} />
          <button
            type="button"
            class="quiet iconic"
            aria-label=${t4("shell.you")}
            title=${t4("shell.you")}
            onClick=${()=>show2("you")}
          >
            <${Icon} name="settings" />
          </button>
        </div>
      </nav>
      <main id="main" tabindex="-1">
        ${known3?html`
          <${View} name=${at.view} />
        `:html`
          <p class="loading" role="status">
            ${t4("part.loading")}
          </p>
        `}
      </main>
      <nav class="bottom" aria-label=${t4("shell.views")}>
        ${onPhone.map(v3=>html`
          <${Link} view=${v3} at=${at} waiting=${v3==="inbox"?waiting2:noneWaits} text=${t4("short."+v3)} />
        `)}
        <button
          type="button"
          class=${cls("to",!onPhone.includes(at.view)&&"on")}
          aria-expanded=${open==="more"}
          onClick=${()=>show2(open==="more"?"":"more")}
        >
          <${Icon} name="more" />
          <span>${t4("shell.more")}</span>
        </button>
      </nav>
    </div>
    ${open==="more"&&html`
      <${Dialog} name="more" title=${t4("shell.views")} close=${()=>show2("")}>
        <div class="all">
          ${groups.map(g3=>html`
            <ul>
              ${g3.map(v3=>html`
                <li>
                  <${Link} view=${v3} at=${at} />
                </li>
              `)}
            </ul>
          `)}
        </div>
        <div class="acts">
          <button type="button" onClick=${()=>show2("palette")}>
            <${Icon} name="search" />
            ${t4("shell.find")}
          </button>
          <button type="button" onClick=${()=>show2("you")}>
            <${Icon} name="settings" />
            ${t4("shell.you")}
          </button>
        </div>
      <//>
    `}
    ${open==="you"&&html`<${You} again=${again} close=${()=>show2("")} keys=${()=>show2("keys")} />`}
    ${(open==="palette"||open==="keys")&&html`
      <${Late}
        load=${()=>import("/palette.js")}
        name=${open==="palette"?"Palette":"Keys"}
        of=${{views,close:()=>show2(""),show:show2}}
      />
    `}
  `}var noneWaits={count:0};async function waits(){let none=e3=>e3 instanceof Refused?{body:{approvals:[],pairings:[]}}:Promise.reject(e3),[a3,p3]=await Promise.all([page("/v1/approvals?status=pending&limit=200").catch(none),page("/v1/pairings").catch(none)]),asking=p3.body.pairings.filter(one=>one.status==="pending");return{count:a3.body.approvals.length+asking.length,more:!!a3.next}}function Link({view,at,waiting:waiting2=noneWaits,text=t4("view."+view)}){return html`
    <a
      class=${cls("to",at.view===view&&"on")}
      href=${address(view)}
      aria-current=${at.view===view?"page":void 0}
      data-view=${view}
    >
      <${Icon} name=${view} />
      <span>${text}</span>
      ${waiting2.count>0&&html`
        <b class="badge">
          ${count(waiting2)}
          <span class="unseen"> ${t4("shell.waiting")}</span>
        </b>
      `}
    </a>
  `}var State=()=>html`
  <span
    class=${cls("pill",connected===!1?"away":connected?"connected":"connecting")}
    id="connection"
    role="status"
  >
    ${t4(connected===!1?"shell.away":connected?"shell.connected":"shell.connecting")}
  </span>
`;function View({name}){let[,draw2]=_2(n3=>n3+1,0),[error,fail]=d2(null),last2=T2(null);if(A2(()=>{fail(null),!(loaded.has(name)||!views.includes(name))&&import(`/views/${name}.js`).then(m3=>{loaded.set(name,m3.default),draw2()},fail)},[name]),!views.includes(name))return html`
      <div class="page-body">
        <h1>${t4("shell.nothing")}</h1>
        <p>${t4("shell.nothinghere")}</p>
        <a class="button" href="/overview">
          ${t4("view.overview")}
        </a>
      </div>
    `;if(error)return html`<${Problem} error=${error} />`;let Loaded2=loaded.get(name);return Loaded2&&(last2.current=name),html`
    <h1 class="view-title">${t4("view."+name)}</h1>
    ${Loaded2?html`
      <${Loaded2} key=${name} />
    `:html`
      <p class="loading" role="status">
        ${t4("part.loading")}
      </p>
    `}
  `}function Late({load:load2,name,of:of2}){let[module,set]=d2(null);return A2(()=>{load2().then(set)},[]),module&&html`<${module[name]} ...${of2} />`}function You({again,close,keys}){let[,draw2]=_2(n3=>n3+1,0),Choice=({name,value,values,text,set})=>html`
    <fieldset class="choice">
      <legend>${name}</legend>
      ${values.map(v3=>html`
        <button type="button" aria-pressed=${v3===value} onClick=${()=>set(v3)}>
          ${text(v3)}
        </button>
      `)}
    </fieldset>
  `;return html`
    <${Dialog} name="you" title=${t4("shell.you")} close=${close}>
      ${me&&html`
        <p class="soft">
          ${t4("you.are",{name:me.name||t4("you.owner"),role:t4("role."+me.role)})} <${Level} label=${me.level} />
        </p>
      `}
      ${me&&!canSignOut()&&html`<p class="soft">${t4("you.proxy")}</p>`}
      <${Choice}
        name=${t4("you.theme")}
        value=${theme()}
        values=${themes}
        text=${v3=>t4("theme."+v3)}
        set=${v3=>{dress(v3),draw2()}}
      />
      <${Choice}
        name=${t4("you.language")}
        value=${language}
        values=${languagesKnown}
        text=${v3=>t4("language."+v3)}
        set=${async v3=>{await choose(v3),again(),draw2()}}
      />
      <div class="acts">
        <button type="button" onClick=${keys}>
          ${t4("keys.title")}
        </button>
        ${canSignOut()&&html`
          <button type="button" class="danger" onClick=${signOut}>
            ${t4("you.out")}
          </button>
        `}
      </div>
    <//>
  `}var edge=8,tip=document.createElement("div");tip.id="exact";tip.setAttribute("role","tooltip");var of=null;function timeOf(node){return node?.matches?node.matches("time.moment")?node:node.matches(".rows")?node.querySelector(".row.at time.moment"):node.matches("a:focus-visible, button:focus-visible, summary:focus-visible")?node.querySelector("time.moment"):null:null}function look(){let node=document.activeElement,time2=timeOf(node);if(!time2)return hide();of!==node&&hide(),of=node,tip.textContent=exact(time2.dateTime),(node.closest("dialog, main, nav")??document.body).append(tip),node.setAttribute("aria-describedby",tip.id);let at=time2.getBoundingClientRect(),own=tip.getBoundingClientRect(),below=at.bottom+4;tip.style.left=Math.max(edge,Math.min(at.left,innerWidth-own.width-edge))+"px",tip.style.top=(below+own.height>innerHeight-edge?at.top-own.height-4:below)+"px"}function hide(){tip.remove(),of?.removeAttribute("aria-describedby"),of=null}function startExact(){document.addEventListener("pointerover",e3=>{let time2=e3.target.closest?.("time.moment");time2&&(time2.title=exact(time2.dateTime))}),document.addEventListener("focusin",look),document.addEventListener("focusout",hide),document.addEventListener("scroll",()=>of&&look(),{capture:!0,passive:!0}),document.addEventListener("keydown",e3=>e3.key==="Escape"&&hide(),{capture:!0})}dress();startRouter();startExact();var frameAfter=150,known2=!1,draw=()=>Q(html`<${Shell} again=${draw} known=${known2} />`,document.getElementById("app"));startKeys(shown);async function begin(){await Promise.all([load(),ready(here().view)]),await Promise.race([arrive(),new Promise(done=>setTimeout(done,frameAfter))]),draw();let wrong=await arrive();onSignedOut(async()=>(await import("/sign.js")).ask(wrong)),me||await whoAmI().catch(()=>{}),known2=!0,draw(),startLive()}begin();export{Act,Age,Chip,x as Component,Copy,Dialog,Facts,Field,$ as Fragment,Icon,Left,Level,Loaded,Loading,Moment,Options,Order,Pager,Parts,Place,Problem,Refused,Sheet,Shell,Tabs,Text,Unfold,Value,When,acts,address,age,arrive,ask,askEarly,bytes,call,canSignOut,change,choose,clock,cls,connected,copy,count,current,date,day,decoded,dress,events,exact,file,filled,followSession,go,goLetters,here,html,json,known,language,languagesKnown,letters,lettersOn,levelOf,levels,listen,load,local,look,me,minute,number,onChange,onSignedOut,owns,page,passFocus,post,query,ready,Q as render,routeName,save,saveAnswer,say,sessionName,setLetters,shown,signIn,signOut,signedInElsewhere,span,startExact,startKeys,startLive,startRouter,t4 as t,toast,tokenBrought,toneFor,untrusted,useAddress,b as useCallback,A2 as useEffect,F2 as useLayoutEffect,useLoad,w2 as useMemo,_2 as useReducer,T2 as useRef,d2 as useState,useTick,visible,wasSignedIn,watch,whoAmI};
